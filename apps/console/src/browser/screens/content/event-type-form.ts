import type { EventType } from '@gatehouse/client'
import type { InputOf } from '../../../actions/index.ts'
import { type Channel, channels } from './matrix.ts'

/** What an event type may record of who reads a message; empty for what the service does by default. */
export const trackings = ['', 'off', 'opens', 'clicks', 'on'] as const
/** The priorities, the highest first. */
export const priorities = ['critical', 'normal', 'low'] as const

/** An event type as its form has it: every field is a text or a choice. */
export interface EventTypeForm {
  readonly title: string
  readonly priority: string
  readonly channels: readonly string[]
  readonly template_id: string
  readonly aggregates: boolean
  readonly threshold: string
  readonly actor: string
  readonly limits: boolean
  readonly limit: string
  readonly per_seconds: string
  readonly ttl_seconds: string
  /** By channel. */
  readonly tracking: Readonly<Record<Channel, string>>
  readonly sensitive: boolean
  /** Whether a message whose provider did not answer goes to the next one; empty for the default. */
  readonly failover: string
}

/** The form of an event type, or of one that is not there yet. */
export function formOf(eventType: EventType | undefined): EventTypeForm {
  const { aggregation, rate_limit: rate, tracking = {} } = eventType ?? {}
  const trackingOf = (channel: Channel) => (typeof tracking === 'string' ? tracking : tracking[channel]) ?? ''
  return {
    title: eventType?.title ?? '',
    priority: eventType?.priority ?? 'normal',
    channels: eventType?.channels ?? ['push', 'email'],
    template_id: eventType?.template_id ?? '',
    aggregates: aggregation !== undefined,
    threshold: numberText(aggregation?.threshold ?? (aggregation === undefined ? 3 : undefined)),
    actor: aggregation?.actor ?? '',
    limits: rate !== undefined,
    limit: numberText(rate?.limit ?? 100),
    per_seconds: numberText(rate?.per_seconds ?? 60),
    ttl_seconds: numberText(eventType?.ttl_seconds),
    tracking: Object.fromEntries(channels.map((channel) => [channel, trackingOf(channel)])) as Record<Channel, string>,
    sensitive: eventType?.sensitive === true,
    failover: eventType?.failover_on_timeout === undefined ? '' : String(eventType.failover_on_timeout),
  }
}

type Settings = Omit<InputOf<'saveEventType'>, 'event'>

/** What is stored of a form. What is left empty is left to the service. */
export function settingsOf(form: EventTypeForm): Settings {
  const tracking = Object.fromEntries(Object.entries(form.tracking).filter(([, level]) => level !== ''))
  return {
    channels: form.channels,
    priority: form.priority,
    sensitive: form.sensitive,
    ...(form.title.trim() === '' ? {} : { title: form.title.trim() }),
    ...(form.template_id.trim() === '' ? {} : { template_id: form.template_id.trim() }),
    ...(form.aggregates
      ? { aggregation: { ...withNumber('threshold', form.threshold), actor: form.actor.trim() } }
      : {}),
    ...(form.limits ? { rate_limit: { limit: Number(form.limit), per_seconds: Number(form.per_seconds) } } : {}),
    ...withNumber('ttl_seconds', form.ttl_seconds),
    ...(Object.keys(tracking).length === 0 ? {} : { tracking }),
    ...(form.failover === '' ? {} : { failover_on_timeout: form.failover === 'true' }),
  } as Settings
}

function numberText(value: number | undefined): string {
  return value === undefined ? '' : String(value)
}

function withNumber(name: string, text: string): Readonly<Record<string, number>> {
  return text.trim() === '' ? {} : { [name]: Number(text) }
}

/** The faults that the API names, by the field that they are about. */
export function faultsByField(
  errors: readonly { readonly pointer: string; readonly detail: string }[] = [],
): Readonly<Record<string, string>> {
  return Object.fromEntries(errors.map(({ pointer, detail }) => [fieldOf(pointer), detail]))
}

function fieldOf(pointer: string): string {
  const [first = '', second] = pointer.split('/').slice(1)
  return (first === 'aggregation' || first === 'rate_limit') && second !== undefined ? second : first
}
