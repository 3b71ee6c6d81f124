import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import type { InputOf } from '../../../../actions/index.ts'
import { useRead } from '../../../api/queries.ts'
import { Answer } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { type EventTypeForm, settingsOf } from '../event-type-form.ts'
import { SimulationFields } from './fields.tsx'
import { hourlyEvents, parseEvents } from './pasted.ts'
import { SimulatedZone } from './simulated-zone.tsx'

type Input = InputOf<'simulateEventType'>

/** What people in three zones would get of pasted events, under the settings of the form, stored or not. */
export function EventTypeSimulation({ event, form }: { event: string; form: EventTypeForm }) {
  const t = useTexts()
  const [fields, change] = useState(() => ({
    zones: defaultZones(),
    start: '22:00',
    end: '08:00',
    text: hourlyEvents(new Date().toISOString().slice(0, 10)),
  }))
  const [input, simulate] = useState<Input>()
  const query = useRead('simulateEventType', input, input !== undefined)
  const pasted = parseEvents(fields.text)
  const timeZones = [...new Set(fields.zones.map((zone) => zone.trim()).filter((zone) => zone !== ''))]
  const isReady = pasted.events.length > 0 && pasted.exceeded === undefined && timeZones.length > 0
  return (
    <Stack component="section" className="panel" gap="sm" mt="md" aria-label={t.eventSimulation.title}>
      <Title order={2}>{t.eventSimulation.title}</Title>
      <Text size="sm">{t.eventSimulation.lead}</Text>
      <form
        onSubmit={(submitted) => {
          submitted.preventDefault()
          if (!isReady) return
          const quiet = { start: fields.start, end: fields.end }
          simulate({
            event,
            settings: settingsOf(form),
            quiet_hours: quiet,
            time_zones: timeZones,
            events: [...pasted.events],
          })
        }}
      >
        <Stack gap="sm">
          <SimulationFields fields={fields} change={change} pasted={pasted} />
          <Group>
            <Button type="submit" disabled={!isReady} loading={query.isFetching}>
              {t.eventSimulation.simulate}
            </Button>
          </Group>
        </Stack>
      </form>
      {input !== undefined && (
        <Answer action="simulateEventType" query={query}>
          {({ zones }) => zones.map((zone) => <SimulatedZone key={zone.time_zone} zone={zone} />)}
        </Answer>
      )}
    </Stack>
  )
}

/** The zone of the person who looks, and two that are far from each other. */
function defaultZones(): readonly string[] {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  return [...new Set([own, 'America/New_York', 'Asia/Tokyo', 'Europe/Berlin'])].slice(0, 3)
}
