import { randomUUID } from 'node:crypto'
import { type Clock, type Database, type Finding, type Log, type SetupStep, withinTime } from '@gatehouse/kit'
import { type Config, hasDevPages, isLoopback } from '../../config/config.ts'
import type { Readiness } from '../../http/health.ts'

/** How long a service may take to say what it found and what is set up, in milliseconds. */
export const answerMs = 4_000

/** A service of this process, as far as its status and its setup are concerned. */
export interface ObservedServices {
  readonly identity:
    | {
        findings(): Promise<readonly Finding[]>
        setup(provided: ReadonlySet<string>): Promise<readonly SetupStep[]>
      }
    | undefined
  readonly notify:
    | {
        findings(): Promise<readonly Finding[]>
        setup(standIns: ReadonlySet<string>): Promise<readonly SetupStep[]>
      }
    | undefined
}

/** What the status of a process is read from. */
export interface SystemParts {
  readonly config: Config
  readonly version: string
  readonly clock: Clock
  readonly log: Log
  readonly database: Database | undefined
  readonly counters: string
  readonly readiness: () => Promise<Readiness>
  readonly services: () => ObservedServices
}

/** Reads the status: what runs, on what, and what is to be looked at. Remembers since when that is so. */
export function createStatus(parts: SystemParts) {
  const { config, version, clock, readiness } = parts
  const startedAt = clock.now()
  const instance = randomUUID()
  const firstSeen = new Map<string, number>()
  const sinceOf = ({ code, subject = '', since }: Finding) => {
    const key = `${code} ${subject}`
    const known = firstSeen.get(key) ?? clock.now()
    firstSeen.set(key, known)
    return since ?? known
  }
  return async () => {
    const { status, engines } = await readiness()
    const found = [...engineFindings(engines), ...configFindings(config, startedAt), ...(await serviceFindings(parts))]
    const warnings = found.map((finding) => ({ ...finding, since: new Date(sinceOf(finding)).toISOString() }))
    forgetOthers(firstSeen, found)
    return {
      instance,
      status,
      services: [...config.settings.services],
      version,
      node: process.versions.node,
      started_at: new Date(startedAt).toISOString(),
      engines: Object.entries(engines).map(([name, state]) => ({ name, state, ...kindOf(parts, name) })),
      warnings: warnings.sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity)),
    }
  }
}

const severities = ['error', 'warning', 'info']

function forgetOthers(firstSeen: Map<string, number>, found: readonly Finding[]): void {
  const present = new Set(found.map(({ code, subject = '' }) => `${code} ${subject}`))
  for (const key of firstSeen.keys()) if (!present.has(key)) firstSeen.delete(key)
}

function kindOf({ database, counters }: SystemParts, name: string): { kind?: string } {
  if (name === 'database') return { kind: database?.engine === 'postgres' ? 'PostgreSQL' : 'embedded PostgreSQL' }
  return name === 'counters' ? { kind: counters } : {}
}

function engineFindings(engines: Readonly<Record<string, string>>): Finding[] {
  return Object.entries(engines)
    .filter(([, state]) => state !== 'ok')
    .map(([subject]) => ({ code: 'engine_unavailable', severity: 'error', subject }))
}

/** What follows from the configuration, as long as the process runs. */
function configFindings({ settings, file }: Config, since: number): Finding[] {
  const isPublic = !isLoopback(new URL(settings.baseUrl).hostname)
  const findings: [boolean, Finding][] = [
    [settings.databaseUrl === undefined, { code: 'database_embedded', severity: isPublic ? 'warning' : 'info' }],
    [
      settings.databaseUrl !== undefined && settings.redisUrl === undefined && settings.services.has('gateway'),
      { code: 'counters_in_database', severity: 'info' },
    ],
    [
      settings.databaseUrl !== undefined && settings.encryptionKey === undefined,
      { code: 'encryption_key_unset', severity: 'warning' },
    ],
    [hasDevPages(settings, file), { code: 'dev_pages_served', severity: isPublic ? 'error' : 'info' }],
    [
      settings.identityElsewhere && settings.serviceClient === undefined,
      { code: 'service_client_unset', severity: 'warning' },
    ],
    [isPublic && settings.baseUrl.startsWith('http:'), { code: 'base_url_unencrypted', severity: 'error' }],
  ]
  return findings.filter(([isSo]) => isSo).map(([, finding]) => ({ ...finding, since }))
}

/** What the services found. One that does not say in time is a finding itself. */
async function serviceFindings({ services, log }: SystemParts): Promise<Finding[]> {
  const found = await Promise.all(
    Object.entries(services()).map(async ([subject, service]): Promise<readonly Finding[]> => {
      if (service === undefined) return []
      try {
        return await withinTime(answerMs, 'what a service found', service.findings())
      } catch (error) {
        log.warn({ err: error, service: subject }, 'a service did not say what it found')
        return [{ code: 'service_silent', severity: 'warning', subject }]
      }
    }),
  )
  return found.flat()
}
