import { Text, Title } from '@mantine/core'
import type { OutputOf } from '../../../../actions/index.ts'
import { Rows } from '../../../parts/table.tsx'
import { State } from '../../../parts/values/values.tsx'
import { dateLocale, useSettings, useTexts } from '../../../texts/settings.tsx'

type Zone = OutputOf<'simulateEventType'>['zones'][number]
type Message = Zone['messages'][number]

const maxShown = 50

/** What people in one zone would get, in their own time. */
export function SimulatedZone({ zone }: { zone: Zone }) {
  const t = useTexts()
  const words = t.eventSimulation
  const format = useLocalTime(zone.time_zone)
  const sent = zone.messages.filter(({ outcome }) => outcome === 'sent')
  const waiting = sent.filter(({ quiet_until: until }) => until !== undefined)
  const shown = zone.messages.slice(0, maxShown)
  return (
    <section aria-label={zone.time_zone}>
      <Title order={3} size="h5">
        {zone.time_zone}
      </Title>
      <Text size="sm">
        {words.summary(sent.length, waiting.length, zone.messages.length - sent.length)}{' '}
        {zone.quiet
          .map(({ from, until }) => words.quiet(format(from), format(until), hoursBetween(from, until)))
          .join(' ')}
      </Text>
      <Rows
        label={words.messagesIn(zone.time_zone)}
        rows={shown}
        keyOf={({ events }) => events.join(' ')}
        columns={[
          { label: words.at, render: ({ at }) => <time dateTime={at}>{format(at)}</time> },
          { label: words.outcome, render: ({ outcome }) => <Outcome outcome={outcome} /> },
          { label: words.user, render: ({ user_id: user }) => user },
          { label: words.made, render: (message) => words.madeOf(message.events.length, message.actors) },
          { label: words.waits, render: (message) => <Waits message={message} format={format} /> },
        ]}
      />
      {zone.messages.length > shown.length && (
        <Text size="sm" c="dimmed">
          {words.more(zone.messages.length - shown.length)}
        </Text>
      )}
    </section>
  )
}

function Outcome({ outcome }: Pick<Message, 'outcome'>) {
  const { eventSimulation: words } = useTexts()
  return <State tone={outcome === 'sent' ? 'good' : 'bad'}>{outcome === 'sent' ? words.sent : words.expired}</State>
}

function Waits({ message, format }: { message: Message; format: (at: string) => string }) {
  const { eventSimulation: words } = useTexts()
  const { gathered_until: gathered, quiet_until: quiet } = message
  const waits = [
    ...(gathered === undefined ? [] : [words.gathered(format(gathered))]),
    ...(quiet === undefined ? [] : [words.deferred(format(quiet))]),
  ]
  return waits.length === 0 ? words.atOnce : waits.join('; ')
}

/** Writes times as the clock of a zone shows them. */
function useLocalTime(timeZone: string): (at: string) => string {
  const { settings } = useSettings()
  const format = new Intl.DateTimeFormat(dateLocale(settings.language), {
    ...{ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
    timeZone,
  })
  return (at) => format.format(new Date(at))
}

function hoursBetween(from: string, until: string): number {
  return Math.round((Date.parse(until) - Date.parse(from)) / 360_000) / 10
}
