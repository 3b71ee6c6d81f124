import { StartError } from '@gatehouse/kit'
import { start } from './start.ts'

try {
  await start()
} catch (error) {
  if (!(error instanceof StartError)) throw error
  for (const line of error.message.split('\n')) console.error(`gatehouse: ${line}`)
  process.exit(1)
}
