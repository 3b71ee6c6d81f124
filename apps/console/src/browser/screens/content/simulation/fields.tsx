import { Button, Group, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTexts } from '../../../texts/settings.tsx'
import { hourlyEvents, maxEvents, type PastedEvents } from './pasted.ts'

const maxFaultsShown = 5

/** What a simulation is made from, as its form has it. */
export interface Fields {
  readonly zones: readonly string[]
  readonly start: string
  readonly end: string
  readonly text: string
}

interface SimulationFieldsProps {
  readonly fields: Fields
  readonly change: (fields: Fields) => void
  readonly pasted: PastedEvents
}

/** The zones, the quiet hours and the events of a simulation. */
export function SimulationFields({ fields, change, pasted }: SimulationFieldsProps) {
  const { eventSimulation: words } = useTexts()
  const set = (part: Partial<Fields>) => change({ ...fields, ...part })
  return (
    <>
      <div className="columns">
        {fields.zones.map((zone, nth) => (
          <TextInput
            // biome-ignore lint/suspicious/noArrayIndexKey: the places are fixed, and what is in them is typed
            key={nth}
            label={words.zone(nth + 1)}
            value={zone}
            list="time-zones"
            maxLength={64}
            spellCheck={false}
            onChange={({ currentTarget }) => set({ zones: fields.zones.with(nth, currentTarget.value) })}
          />
        ))}
      </div>
      <datalist id="time-zones">
        {Intl.supportedValuesOf('timeZone').map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <div className="columns">
        <TextInput
          type="time"
          label={words.start}
          value={fields.start}
          required
          onChange={({ currentTarget }) => set({ start: currentTarget.value })}
        />
        <TextInput
          type="time"
          label={words.end}
          value={fields.end}
          required
          onChange={({ currentTarget }) => set({ end: currentTarget.value })}
        />
      </div>
      <Textarea
        label={words.events}
        description={words.eventsHelp}
        placeholder={'{"at": "2026-03-29T00:30:00Z", "user_id": "alice", "data": {"actor": "Ann"}}'}
        rows={6}
        value={fields.text}
        spellCheck={false}
        autoComplete="off"
        onChange={({ currentTarget }) => set({ text: currentTarget.value })}
        error={useFault(pasted)}
      />
      <HourlyEvents fill={(text) => set({ text })} />
    </>
  )
}

/** Fills in an event each hour of a day, such as one on which clocks change. */
function HourlyEvents({ fill }: { fill: (text: string) => void }) {
  const { eventSimulation: words } = useTexts()
  const [day, setDay] = useState(new Date().toISOString().slice(0, 10))
  return (
    <Group align="flex-end" gap="xs">
      <TextInput
        type="date"
        label={words.day}
        value={day}
        onChange={({ currentTarget }) => setDay(currentTarget.value)}
      />
      <Button variant="default" disabled={day === ''} onClick={() => fill(hourlyEvents(day))}>
        {words.hourly}
      </Button>
    </Group>
  )
}

/** What is wrong with the events; undefined when nothing is. */
function useFault({ faults, exceeded }: PastedEvents): string | undefined {
  const { eventSimulation: words } = useTexts()
  if (exceeded === 'events') return words.tooMany(maxEvents)
  if (exceeded === 'span') return words.tooLong
  if (faults.length === 0) return undefined
  const shown = faults.slice(0, maxFaultsShown).join(', ')
  return words.faults(faults.length > maxFaultsShown ? `${shown} …` : shown)
}
