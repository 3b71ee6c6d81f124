import type { Log } from '@gatehouse/kit'
import { type App, compose } from './compose/compose.ts'
import { type Config, readConfigAgain } from './config/config.ts'
import { editedSections } from './config/edited.ts'
import { declaresTour } from './config/tour.ts'
import { listen, probePort } from './http/listen.ts'
import { banner, printSeeded } from './process/banner.ts'
import { reloadOnSignal, stopOnSignal } from './process/lifecycle.ts'
import { releaseStartMemory } from './process/start-memory.ts'

/** What {@link serve} runs. */
export interface ServeOptions {
  readonly config: Config
  readonly version: string
  readonly log: Log
}

/** Serves as one process: builds what the configuration names, listens, and says where everything is. */
export async function serve({ config, version, log }: ServeOptions): Promise<void> {
  const { settings } = config
  await probePort(settings.host, settings.port)
  const { metricsHost, metricsPort } = settings
  if (metricsPort !== undefined) await probePort(metricsHost, metricsPort, 'METRICS_HOST, METRICS_PORT')
  const ready = Promise.withResolvers<App>()
  const beforeSeeding = () => stopOnSignal(async () => (await ready.promise).stop(), log)
  const app = await compose({ config, version, log, beforeSeeding })
  releaseStartMemory()
  try {
    await listen(app.http, settings.host, settings.port)
  } catch (error) {
    printSeeded(app.about.seeded)
    await app.stop()
    throw error
  }
  let last = config
  reloadOnSignal(async () => {
    last = await readConfigAgain(last)
    const inForce = await app.reload(last)
    const edited = editedSections(config.file, last.file)
    if (edited.length > 0) log.warn(`a restart applies what else was edited in the file: ${edited.join(', ')}`)
    return inForce
  }, log)
  const { baseUrl, authUrl, host, port, processes } = settings
  process.stdout.write(
    banner({
      version,
      baseUrl,
      authUrl,
      host,
      port,
      processes,
      milliseconds: performance.now(),
      services: [...settings.services],
      tour: declaresTour(config.file),
      ...app.about,
    }),
  )
  ready.resolve(app)
}
