import { type Database, type SetupStep, withinTime } from '@gatehouse/kit'
import type { Config } from '../../config/config.ts'
import { declaresTour } from '../../config/tour.ts'
import { answerMs, type SystemParts } from './status.ts'

/** Providers that send nothing. */
const standIns: ReadonlySet<string> = new Set(['mailbox-push', 'mailbox-email', 'mailbox-sms', 'inbox'])

/** Reads which steps of the setup are done, of the services of this process. */
export function createSetup(parts: SystemParts) {
  const { config, database } = parts
  return async (): Promise<SetupStep[]> => {
    const { identity, notify } = parts.services()
    const { settings, file } = config
    const isTour = declaresTour(file)
    const provided = new Set(isTour ? file.clients?.map(({ client_id: id }) => id) : [])
    const found = Promise.all([notify?.setup(standIns) ?? [], identity?.setup(provided) ?? []])
    const steps = await withinTime(answerMs, 'the steps of the setup', found)
    const gateway = settings.services.has('gateway') ? gatewaySteps(file, isTour) : []
    const backedUp = database?.engine === 'postgres' ? await lastArchived(database) : undefined
    return [...steps.flat(), ...gateway, ...installationSteps(settings, backedUp)]
  }
}

/** The limits of the tour are nobody's choice. */
function gatewaySteps({ routes = [], tiers, policies }: Config['file'], isTour: boolean): SetupStep[] {
  const protectedRoutes = routes.filter(({ public: isPublic, upstream }) => isPublic !== true && upstream !== undefined)
  const named = isTour ? [] : [...Object.keys(tiers ?? {}), ...Object.keys(policies ?? {})]
  return [
    {
      id: 'protected_route',
      done: protectedRoutes.length > 0,
      evidence: { routes: protectedRoutes.slice(0, 5).map(({ path }) => path) },
    },
    { id: 'limits', done: named.length > 0, evidence: { names: named.slice(0, 10) } },
  ]
}

function installationSteps(settings: Config['settings'], backedUp: string | undefined): SetupStep[] {
  const { databaseUrl, redisUrl, encryptionKey } = settings
  const engines = {
    database: databaseUrl === undefined ? 'embedded' : 'PostgreSQL',
    counters: redisUrl === undefined ? 'memory or database' : 'Redis',
  }
  const keyed = encryptionKey !== undefined
  return [
    { id: 'engines', done: databaseUrl !== undefined, evidence: engines },
    {
      id: 'key_and_backup',
      done: keyed && backedUp !== undefined,
      evidence: { key: keyed, ...(backedUp === undefined ? {} : { archived_at: backedUp }) },
    },
  ]
}

/** When PostgreSQL archived its log last, by which a backup can be brought up to date; undefined where it does not. */
async function lastArchived(database: Database): Promise<string | undefined> {
  const { rows } = await database.query<{ at: number | null }>('SELECT last_archived_time AS at FROM pg_stat_archiver')
  const at = rows[0]?.at ?? undefined
  return at === undefined ? undefined : new Date(at).toISOString()
}
