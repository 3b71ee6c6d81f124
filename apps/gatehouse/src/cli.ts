#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Before anything else is loaded: a command lives shorter than its compilation takes.
enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/gatehouse'))
const { createLog, Problem, StartError, systemClock } = await import('@gatehouse/kit')
const { runCommand } = await import('./command/run.ts')
const { readConfig } = await import('./config/config.ts')

try {
  const log = createLog('warn')
  const openManagement = async () => {
    const { composeManagement } = await import('./compose/management.ts')
    return composeManagement(await readConfig(), log)
  }
  await runCommand(process.argv.slice(2), openManagement, {
    async distribute(buckets) {
      const { distributeTables } = await import('./compose/distribute.ts')
      return distributeTables(await readConfig(), log, buckets)
    },
    async rotateLinks(compromised) {
      const { rotateLinks } = await import('./compose/rotate-links.ts')
      return rotateLinks(await readConfig(), compromised, { log, clock: systemClock })
    },
    async reseal() {
      const { resealStored } = await import('./compose/identity/reseal.ts')
      return resealStored(await readConfig(), log, systemClock)
    },
  })
} catch (error) {
  if (!(error instanceof StartError || error instanceof Problem)) throw error
  for (const line of error.message.split('\n')) console.error(`gatehouse: ${line}`)
  process.exitCode = 1
}
