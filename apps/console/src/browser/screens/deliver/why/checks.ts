import type { EventType, NotificationExplanation, Standing } from '@gatehouse/client'
import type { ExplainedChannel } from '../../../api/records.ts'

/** The checks between an event and its report, in the order in which they are shown. */
export const checkNames = [
  'event',
  'channels',
  'suppression',
  'duplicate',
  'cap',
  'quiet',
  'aggregation',
  'template',
  'address',
  'provider',
  'report',
] as const

/** A check between an event and its report. */
export type CheckName = (typeof checkNames)[number]

/**
 * The order in which the service looks: a check that comes after the one that stopped was not reached, wherever it is
 * shown. A cap counts what would be sent at once, so that it comes last before the provider.
 */
const evaluated: readonly CheckName[] = [
  'event',
  'channels',
  'duplicate',
  'aggregation',
  'quiet',
  'address',
  'suppression',
  'template',
  'cap',
  'provider',
  'report',
]

/** What became of an event at a check. */
export type Verdict = 'passed' | 'stopped' | 'waits' | 'skipped'

/** A fact about a check, by the name of its sentence, with what the sentence is about. */
export type CheckFact =
  | { readonly fact: 'eventKnown'; readonly priority: string }
  | { readonly fact: 'rate'; readonly limit: number; readonly seconds: number }
  | { readonly fact: 'cap'; readonly cap: string; readonly used: number; readonly limit: number }
  | { readonly fact: 'template'; readonly id: string; readonly locale: string }
  | { readonly fact: 'providers' | 'missing'; readonly names: readonly string[] }
  | { readonly fact: 'lastReport'; readonly state: string }
  | { readonly fact: 'gathered'; readonly items: number; readonly actors: number; readonly threshold: number }
  | { readonly fact: 'combined' | 'individual' }
  | { readonly fact: 'reason'; readonly code: string; readonly text: string | undefined; readonly suppression?: string }
  | {
      readonly fact:
        | 'noRate'
        | 'chosen'
        | 'leftOut'
        | 'noKey'
        | 'keyFree'
        | 'capCritical'
        | 'quietCritical'
        | 'notQuiet'
        | 'notGathered'
        | 'addressKnown'
        | 'notSuppressed'
        | 'noProvider'
        | 'providersUnknown'
        | 'noReport'
    }

/** Whose word a check follows. */
export type Author =
  | 'request'
  | 'preference'
  | 'preference for *'
  | 'event type'
  | 'operator'
  | 'user'
  | 'producer'
  | 'template'
  | 'provider'

/** One check for one channel. */
export interface Check {
  readonly name: CheckName
  readonly verdict: Verdict
  readonly facts: readonly CheckFact[]
  readonly author: Author
  /** When it goes on, where it waits. */
  readonly until?: string | undefined
}

/** A provider, as far as checks need it. */
export interface CheckedProvider {
  readonly name: string
  readonly channel: string
  readonly state: string
}

/** What the checks of a channel are told from. */
export interface CheckInput {
  readonly channel: string
  readonly explanation: NotificationExplanation
  readonly eventType: EventType | undefined
  readonly hasKey: boolean
  readonly standing: Standing | undefined
  /** Undefined where they could not be read. */
  readonly providers: readonly CheckedProvider[] | undefined
  /** What the last delivery of the event on this channel came to. */
  readonly lastState: string | undefined
}

/** The check that a reason code stops at. */
const checkOfReason: Readonly<Record<string, CheckName>> = {
  channel_off: 'channels',
  preference: 'channels',
  event_type_removed: 'event',
  event_type_reserved: 'event',
  no_device: 'address',
  no_email_address: 'address',
  no_phone_number: 'address',
  no_feed: 'address',
  address_suppressed: 'suppression',
  template_missing: 'template',
  template_failed: 'template',
  dedup_key_used: 'duplicate',
  cap_reached: 'cap',
  quiet_hours: 'quiet',
  expires_in_quiet_hours: 'quiet',
  expired: 'quiet',
  aggregated: 'aggregation',
}

const waiting = new Set(['deferred', 'aggregated'])

/** The checks of one channel, each passed, stopped, waiting or not reached, with what it was decided by. */
export function checksOf(input: CheckInput): readonly Check[] {
  const { channel, explanation } = input
  const explained = explanation.channels.find((each) => each.channel === channel)
  const stop = stopOf(explained)
  return checkNames.map((name): Check => {
    const author = authorOf(name, input)
    if (stop !== undefined && evaluated.indexOf(name) > evaluated.indexOf(stop))
      return { name, verdict: 'skipped', facts: [], author }
    if (name !== stop)
      return { name, verdict: verdictBeyond(name, input), facts: factsOf(name, input, explained), author }
    const verdict = waiting.has(explained?.outcome ?? '') ? 'waits' : 'stopped'
    return { name, verdict, facts: whyOf(explained, input), author, until: explained?.until }
  })
}

/** The check that stops a channel: undefined where it would be sent. */
function stopOf(explained: ExplainedChannel | undefined): CheckName | undefined {
  if (explained === undefined) return 'channels'
  const { reason_code: code, outcome } = explained
  if (outcome === 'queued') return undefined
  return checkOfReason[code ?? ''] ?? 'address'
}

/** Nothing was called or reported yet: the checks of the provider say what would be. */
function verdictBeyond(name: CheckName, { providers, channel }: CheckInput): Verdict {
  if (name === 'report') return 'skipped'
  if (name !== 'provider' || providers === undefined) return 'passed'
  const own = providers.filter((each) => each.channel === channel)
  return own.length === 0 || own.some(isCalled) ? 'passed' : 'waits'
}

const isCalled = ({ state }: CheckedProvider) => state === 'closed' || state === 'probing'

function whyOf(explained: ExplainedChannel | undefined, input: CheckInput): readonly CheckFact[] {
  if (explained === undefined) return [{ fact: 'leftOut' }]
  const { reason_code: code = 'other', reason, params = {} } = explained
  const { suppression } = params
  const why = { fact: 'reason', code, text: reason } as const
  if (code === 'cap_reached') return [why, ...capFacts(input)]
  if (code === 'aggregated') return [why, ...gatheredFacts(input)]
  return [typeof suppression === 'string' ? { ...why, suppression } : why]
}

function factsOf(name: CheckName, input: CheckInput, explained: ExplainedChannel | undefined): readonly CheckFact[] {
  const { eventType, hasKey, lastState } = input
  const isCritical = eventType?.priority === 'critical'
  switch (name) {
    case 'event':
      return [{ fact: 'eventKnown', priority: eventType?.priority ?? 'normal' }, rateOf(eventType)]
    case 'channels':
      return [{ fact: 'chosen' }]
    case 'suppression':
      return [{ fact: 'notSuppressed' }]
    case 'duplicate':
      return [{ fact: hasKey ? 'keyFree' : 'noKey' }]
    case 'cap':
      return isCritical ? [{ fact: 'capCritical' }] : capFacts(input)
    case 'quiet':
      return [{ fact: isCritical ? 'quietCritical' : 'notQuiet' }]
    case 'aggregation':
      return [{ fact: 'notGathered' }]
    case 'template':
      return [
        { fact: 'template', id: eventType?.template_id ?? eventType?.event ?? '', locale: explained?.locale ?? '' },
        ...missingOf(input),
      ]
    case 'address':
      return [{ fact: 'addressKnown' }]
    case 'provider':
      return providerFacts(input)
    case 'report':
      return lastState === undefined ? [{ fact: 'noReport' }] : [{ fact: 'lastReport', state: lastState }]
  }
}

function rateOf(eventType: EventType | undefined): CheckFact {
  const { limit, per_seconds: seconds } = eventType?.rate_limit ?? {}
  return limit === undefined || seconds === undefined ? { fact: 'noRate' } : { fact: 'rate', limit, seconds }
}

/** The caps that count for the channel. */
function capFacts({ standing, channel, eventType }: CheckInput): readonly CheckFact[] {
  const counted = new Set(['total', `channel:${channel}`, `priority:${eventType?.priority ?? 'normal'}`])
  return (standing?.caps ?? [])
    .filter(({ cap }) => counted.has(cap))
    .map(({ cap, used, limit }) => ({ fact: 'cap', cap, used, limit }))
}

/** What the event would be gathered with, and how that would be sent if no other came. */
function gatheredFacts({ explanation: { gathered } }: CheckInput): readonly CheckFact[] {
  if (gathered === undefined) return []
  const { items, actors, threshold, sent_as: sentAs } = gathered
  return [{ fact: 'gathered', items, actors, threshold }, { fact: sentAs === 'combined' ? 'combined' : 'individual' }]
}

function missingOf({ explanation, channel }: CheckInput): readonly CheckFact[] {
  return explanation.decisions.flatMap((entry): CheckFact[] => {
    if (entry.what !== 'missing_variables' || entry.channel !== channel) return []
    const names = (entry.detail as { readonly variables?: readonly string[] } | undefined)?.variables ?? []
    return [{ fact: 'missing', names }]
  })
}

function providerFacts({ providers, channel }: CheckInput): readonly CheckFact[] {
  const own = providers?.filter((each) => each.channel === channel) ?? []
  const called = own.filter(isCalled)
  if (own.length === 0) return [{ fact: 'providersUnknown' }]
  return called.length === 0 ? [{ fact: 'noProvider' }] : [{ fact: 'providers', names: [called[0]?.name ?? ''] }]
}

/** Whose word chose the channels, as the explanation says. */
function becauseOf({ decisions }: NotificationExplanation): Author {
  const chosen = decisions.find(({ what }) => what === 'channels')
  const { because } = (chosen?.detail ?? {}) as { readonly because?: Author }
  return because ?? 'event type'
}

function authorOf(name: CheckName, { explanation, channel }: CheckInput): Author {
  if (name === 'channels') {
    const code = explanation.channels.find((each) => each.channel === channel)?.reason_code
    return code === 'channel_off' ? 'operator' : becauseOf(explanation)
  }
  return authors[name]
}

const authors: Readonly<Record<Exclude<CheckName, 'channels'>, Author>> = {
  event: 'event type',
  suppression: 'user',
  duplicate: 'producer',
  cap: 'operator',
  quiet: 'user',
  aggregation: 'event type',
  template: 'template',
  address: 'user',
  provider: 'provider',
  report: 'provider',
}
