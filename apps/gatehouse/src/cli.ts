#!/usr/bin/env node
import { createLog, Problem, StartError } from '@gatehouse/kit'
import { runCommand } from './command/run.ts'
import { composeManagement } from './compose/management.ts'
import { readConfig } from './config.ts'

try {
  await runCommand(process.argv.slice(2), async () => composeManagement(await readConfig(), createLog('warn')))
} catch (error) {
  if (!(error instanceof StartError || error instanceof Problem)) throw error
  for (const line of error.message.split('\n')) console.error(`gatehouse: ${line}`)
  process.exitCode = 1
}
