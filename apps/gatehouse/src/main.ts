import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { keepHangups } from './process/hangup.ts'

keepHangups()
// Before anything else is loaded, so that later starts need not compile it all again.
enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/gatehouse'))
const { start } = await import('./start.ts')
const { StartError } = await import('@gatehouse/kit')

try {
  await start()
} catch (error) {
  if (!(error instanceof StartError)) throw error
  for (const line of error.message.split('\n')) console.error(`gatehouse: ${line}`)
  process.exit(1)
}
