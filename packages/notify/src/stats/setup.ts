import type { Clock, SetupStep, StatReader, StatStore } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import { channels } from '../model/channel.ts'
import type { Measure } from '../model/measure.ts'

/** What the steps of the setup are read from. */
export interface SetupContext {
  readonly stats: Pick<StatStore, 'seen'>
  readonly history: StatReader
  readonly providers: readonly Provider[]
  /** Event types of another service's mails, which are no notifications of the operator's own. */
  readonly reservedEvents: readonly string[]
  /** Providers that send nothing, such as the mailbox of the embedded mode. */
  readonly standIns: ReadonlySet<string>
  readonly clock: Clock
}

const hourMs = 3_600_000

/** The steps of the setup that this service knows of. */
export async function readSetup(context: SetupContext): Promise<SetupStep[]> {
  const { providers, standIns } = context
  const reporting = providers.filter(({ reports }) => reports !== undefined).map(({ name }) => name)
  const [first, webhook] = await Promise.all([firstOf(context, 'outcomes_by_event'), firstOf(context, 'webhooks')])
  const own = providers.filter(({ name }) => !standIns.has(name))
  const carried = channels.filter((channel) => channel === 'in-app' || own.some((one) => one.channel === channel))
  return [
    { id: 'first_notification', done: first !== undefined, evidence: evidenceOf(first) },
    {
      id: 'providers',
      done: carried.length === channels.length,
      evidence: { channels: carried, missing: channels.filter((channel) => !carried.includes(channel)) },
    },
    { id: 'webhook', done: webhook !== undefined, evidence: { ...evidenceOf(webhook), providers: reporting } },
  ]
}

function evidenceOf(at: number | undefined): SetupStep['evidence'] {
  return at === undefined ? {} : { since: new Date(at).toISOString() }
}

/** The hour in which something was counted first; this one for what is not written yet. */
async function firstOf(context: SetupContext, measure: Measure): Promise<number | undefined> {
  const { stats, history, reservedEvents, clock } = context
  const seen = await stats.seen(measure, { label: 'event', values: reservedEvents })
  if (seen !== undefined) return seen.first
  const from = Math.floor(clock.now() / hourMs) * hourMs
  const rows = await history.read({ measure, from, to: from + hourMs, stepMs: hourMs })
  return rows.some(({ labels: { event = '' } }) => !reservedEvents.includes(event)) ? from : undefined
}
