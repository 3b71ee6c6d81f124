import { type Log, readSnapshot, StartError } from '@gatehouse/kit'
import { type App, compose } from './compose/compose.ts'
import { type Config, readConfig, readConfigAgain } from './config/config.ts'
import { drain } from './http/drain.ts'
import { listen } from './http/listen.ts'
import { printSeeded } from './process/banner.ts'
import { finish, reloadLogged } from './process/lifecycle.ts'
import type { WorkerAbout } from './process/messages.ts'
import { releaseStartMemory } from './process/start-memory.ts'
import type { Supervision } from './process/supervision.ts'

/** What {@link work} runs. */
export interface WorkOptions {
  readonly supervision: Supervision
  readonly version: string
  readonly createLog: (config: Config) => Promise<Log>
}

/** Serves as one of several workers of a supervisor, which it tells when it listens, and why it can't start. */
export async function work({ supervision, version, createLog }: WorkOptions): Promise<void> {
  try {
    const config = await readConfig()
    const log = (await createLog(config)).child({ worker: supervision.worker })
    const app = await compose({ config, version, log, supervision, beforeSeeding: () => supervision.deferStop() })
    releaseStartMemory()
    try {
      await listen(app.http, config.settings.host, config.settings.port)
    } catch (error) {
      printSeeded(app.about.seeded)
      await app.stop()
      throw error
    }
    follow(app, { config, supervision, log })
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    await supervision.refuse(error)
  }
}

/** Follows the orders of the supervisor, and a SIGTERM: whoever stops this process alone has it replaced. */
function follow(
  app: App,
  { config, supervision, log }: { readonly config: Config; readonly supervision: Supervision; readonly log: Log },
): void {
  let isStopping = false
  const stop = (graceMs: number): void => {
    if (isStopping) return
    isStopping = true
    void finish(() => stopApp(app, supervision, graceMs), log)
  }
  supervision.ready(aboutOf(app), {
    reload: () => void reloadLogged(async () => app.reload(await readConfigAgain(config)), log),
    stop,
  })
}

async function stopApp(app: App, supervision: Supervision, graceMs: number): Promise<void> {
  if (graceMs > 0) await drain(app.http.server, graceMs)
  await app.stop()
  await supervision.leave(await readSnapshot(app.metrics))
}

function aboutOf({ about: { seeded, developmentKey: _none, ...about } }: App): WorkerAbout {
  return {
    ...about,
    seeded: seeded.map(({ secret, ...each }) => ({ ...each, ...(secret ? { secret: secret.reveal() } : {}) })),
  }
}
