import type { Clock, Finding, StatReader, StatRow } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import type { Measure } from '../model/measure.ts'
import type { ProviderPauses } from '../store/store.ts'

/** What the findings of the service are read from. */
export interface FindingsContext {
  readonly history: StatReader
  readonly providers: readonly Provider[]
  readonly pauses: Pick<ProviderPauses, 'list'>
  readonly clock: Clock
}

const hourMs = 3_600_000
const windowHours = 24
/** Dead letters of this hour and the one before that are worth a look, and how much more than usual they must be. */
const minDeadLetters = 10
const growth = 3
/**
 * A provider that reports nothing after so many messages in a day, the last of them an hour ago or more, has a webhook that
 * is not set up.
 */
const minSilent = 20

/** What an operator should look at: providers that are not called or not set up, dead letters, reports that are missing. */
export async function readFindings(context: FindingsContext): Promise<Finding[]> {
  const now = context.clock.now()
  const read = (measure: Measure) => readDay(context.history, measure, now)
  const [stored, attempts, webhooks, misconfigured] = await Promise.all([
    context.pauses.list(),
    read('attempts'),
    read('webhooks'),
    read('misconfigured'),
  ])
  const known = new Set(context.providers.map(({ name }) => name))
  const ofProviders = stored
    .filter(({ provider }) => known.has(provider))
    .flatMap(({ provider: subject, openUntil, pausedUntil = 0, since }): Finding[] => {
      if (pausedUntil > now) return [{ code: 'provider_paused', severity: 'info', subject }]
      return openUntil === undefined ? [] : [{ code: 'provider_open', severity: 'error', subject, since }]
    })
  return [
    ...ofProviders,
    ...misconfiguredOf(misconfigured, now),
    ...deadLettersOf(attempts, now),
    ...silentOf(
      context.providers,
      attempts.filter(({ at }) => at <= now - 2 * hourMs),
      webhooks,
    ),
  ]
}

async function readDay(history: StatReader, measure: Measure, now: number): Promise<readonly StatRow[]> {
  const to = Math.floor(now / hourMs) * hourMs + hourMs
  return history.read({ measure, from: to - windowHours * hourMs, to, stepMs: hourMs })
}

function misconfiguredOf(rows: readonly StatRow[], now: number): Finding[] {
  const recent = rows.filter(({ at }) => at > now - 2 * hourMs)
  return [...Map.groupBy(recent, ({ labels }) => labels.provider ?? '')].map(([subject, some]) => ({
    code: 'provider_misconfigured',
    severity: 'error',
    subject,
    since: Math.min(...some.map(({ at }) => at)),
    count: sumOf(some),
  }))
}

function deadLettersOf(attempts: readonly StatRow[], now: number): Finding[] {
  const dead = attempts.filter(({ labels }) => labels.result === 'dead_letter')
  const recent = dead.filter(({ at }) => at > now - 2 * hourMs)
  const before = sumOf(dead) - sumOf(recent)
  const usual = (before / (windowHours - 2)) * 2
  const count = sumOf(recent)
  if (count < minDeadLetters || count < growth * usual) return []
  return [{ code: 'dead_letters_grow', severity: 'warning', since: Math.min(...recent.map(({ at }) => at)), count }]
}

function silentOf(
  providers: readonly Provider[],
  attempts: readonly StatRow[],
  webhooks: readonly StatRow[],
): Finding[] {
  const reporting = new Set(
    webhooks.filter(({ labels }) => labels.outcome === 'accepted').map(({ labels }) => labels.provider),
  )
  return providers
    .filter(({ name, reports }) => reports !== undefined && !reporting.has(name))
    .map(({ name }) => ({
      name,
      count: sumOf(attempts.filter(({ labels }) => labels.provider === name && labels.result === 'sent')),
    }))
    .filter(({ count }) => count >= minSilent)
    .map(({ name: subject, count }) => ({ code: 'provider_silent', severity: 'warning', subject, count }))
}

function sumOf(rows: readonly StatRow[]): number {
  return rows.reduce((sum, { value }) => sum + value, 0)
}
