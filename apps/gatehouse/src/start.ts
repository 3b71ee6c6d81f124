import { readFileSync } from 'node:fs'
import { createLog } from '@gatehouse/kit'
import { compose } from './compose/compose.ts'
import { readConfig } from './config/config.ts'
import { declaresTour } from './config/tour.ts'
import { listen, probePort } from './http/listen.ts'
import { banner, seededLines } from './process/banner.ts'
import { reloadOnSignal, stopOnSignal } from './process/lifecycle.ts'
import { releaseStartMemory } from './process/start-memory.ts'

/** Reads the configuration, builds what it names, listens, and says where everything is. */
export async function start(): Promise<void> {
  const config = await readConfig()
  const { settings } = config
  const version = programVersion()
  const log = createLog(settings.logLevel, process.stdout.isTTY ? await readable() : undefined)
  await probePort(settings.host, settings.port)
  const app = await compose(config, version, log)
  releaseStartMemory()
  try {
    await listen(app.http, settings.host, settings.port)
  } catch (error) {
    process.stdout.write(`${seededLines(app.about.seeded).join('\n')}\n`)
    await app.stop()
    throw error
  }
  stopOnSignal(app.stop, log)
  reloadOnSignal(async () => app.reload(await readConfig()), log)
  const { baseUrl, authUrl } = settings
  const milliseconds = performance.now()
  process.stdout.write(
    banner({
      version,
      baseUrl,
      authUrl,
      milliseconds,
      services: [...settings.services],
      tour: declaresTour(config.file),
      ...app.about,
    }),
  )
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
