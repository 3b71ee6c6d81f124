import { readFileSync } from 'node:fs'
import { createLog, type Log } from '@gatehouse/kit'
import { type Config, readConfig } from './config/config.ts'
import { warningsOf } from './config/warnings.ts'
import { joinSupervisor } from './process/supervision.ts'

/** Serves as one process, or as the supervisor or a worker of several (PROCESSES). Each loads no more than it needs. */
export async function start(): Promise<void> {
  const version = programVersion()
  const supervision = await joinSupervisor()
  if (supervision) {
    const { work } = await import('./worker.ts')
    return work({ supervision, version, createLog: logOf })
  }
  const config = await readConfig()
  const log = await logOf(config)
  for (const warning of warningsOf(config)) log.warn(warning)
  const options = { config, version, log }
  if (config.settings.processes === 1) {
    const { serve } = await import('./serve.ts')
    return serve(options)
  }
  const { supervise } = await import('./supervisor/supervise.ts')
  return supervise(options)
}

async function logOf({ settings }: Config): Promise<Log> {
  return createLog(settings.logLevel, process.stdout.isTTY ? await readable() : undefined)
}

/** A log for eyes; its package is loaded where there are any. */
async function readable() {
  const { default: pretty } = await import('pino-pretty')
  return pretty({ translateTime: 'SYS:HH:MM:ss', ignore: 'hostname' })
}

function programVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return version
}
