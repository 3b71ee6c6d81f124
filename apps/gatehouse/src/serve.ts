import type { Log } from '@gatehouse/kit'
import { compose } from './compose/compose.ts'
import { type Config, readConfig } from './config/config.ts'
import { declaresTour } from './config/tour.ts'
import { listen, probePort } from './http/listen.ts'
import { banner, seededLines } from './process/banner.ts'
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
  const app = await compose({ config, version, log })
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
  const { baseUrl, authUrl, processes } = settings
  process.stdout.write(
    banner({
      version,
      baseUrl,
      authUrl,
      processes,
      milliseconds: performance.now(),
      services: [...settings.services],
      tour: declaresTour(config.file),
      ...app.about,
    }),
  )
}
