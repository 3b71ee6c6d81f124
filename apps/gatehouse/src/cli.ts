#!/usr/bin/env node
import { createLog, Problem, StartError, systemClock } from '@gatehouse/kit'
import { runCommand } from './command/run.ts'
import { distributeTables } from './compose/distribute.ts'
import { resealStored } from './compose/identity/reseal.ts'
import { composeManagement } from './compose/management.ts'
import { readConfig } from './config/config.ts'

try {
  const log = createLog('warn')
  await runCommand(process.argv.slice(2), async () => composeManagement(await readConfig(), log), {
    distribute: async (buckets) => distributeTables(await readConfig(), log, buckets),
    reseal: async () => resealStored(await readConfig(), log, systemClock),
  })
} catch (error) {
  if (!(error instanceof StartError || error instanceof Problem)) throw error
  for (const line of error.message.split('\n')) console.error(`gatehouse: ${line}`)
  process.exitCode = 1
}
