import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { NotifyRequest } from '@gatehouse/client'
import { parse } from 'yaml'
import type { Channel } from './dead-letters.ts'
import { expect, type Rules } from './expectation.ts'

const examples = join(import.meta.dirname, '../../../../examples')

/** Where the demo's parts lie. */
export const demoConfig = join(examples, 'demo.yaml')
const eventsFile = join(dirname(demoConfig), 'events.jsonl')

interface DemoFile {
  readonly templates: string
  readonly tiers: Readonly<Record<string, { rpm: number; daily: number }>>
  readonly event_types: ReadonlyArray<{
    readonly event: string
    readonly channels: readonly Channel[]
    readonly priority?: string
    readonly aggregation?: { readonly threshold: number; readonly actor: string }
  }>
  readonly notify: { readonly aggregation_seconds: number }
}

const cap = 10
/** Who sleeps while the demo plays, and who would not hear of anything but what can't wait. */
const quietUsers = ['user-011', 'user-012', 'user-013']

/** What the demo plays, with whom, and what must become of it. */
export function demoScript() {
  const file = parse(readFileSync(demoConfig, 'utf8')) as DemoFile
  const events = readFileSync(eventsFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as NotifyRequest)
  const eventTypes = Object.fromEntries(
    file.event_types.map(({ event, channels, priority, aggregation }) => [
      event,
      {
        critical: priority === 'critical',
        channels,
        aggregated: aggregation !== undefined,
        written: channels.every((channel) => hasText(file.templates, event, channel)),
      },
    ]),
  )
  const rules: Rules = { eventTypes, cap, quiet: new Set(quietUsers) }
  const users = [...new Set(events.map(({ user_id }) => user_id))].sort()
  const lacking = file.event_types.flatMap(({ event, channels }) =>
    channels.filter((channel) => !hasText(file.templates, event, channel)).map((channel) => ({ event, channel })),
  )
  return {
    events,
    users,
    quietUsers,
    lacking,
    expected: expect(events, rules).outcomes,
    differences: differences(file),
  }
}

/** Whether the templates of the demo hold a text of the event type for the channel. */
function hasText(templates: string, event: string, channel: string): boolean {
  return readdirSync(join(examples, templates, event)).some((name) => name.startsWith(`${channel}.`))
}

function differences(file: DemoFile): string[] {
  const { producer } = file.tiers
  return [
    `tiers.producer: ${producer?.rpm} requests a minute, so that one producer may send the day's events in seconds`,
    `notify.aggregation_seconds: ${file.notify.aggregation_seconds} instead of 300, so that you need not wait five minutes for the likes`,
    'everything else is as on a first run: 10 notifications a user and day, 5 attempts, replays sent once',
  ]
}
