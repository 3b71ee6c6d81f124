import { Text, Textarea } from '@mantine/core'
import { useDeferredValue, useMemo } from 'react'
import { useTexts } from '../../../texts/settings.tsx'
import { useNumbers } from '../words.tsx'
import { maxEvents, type PastedEvents, parseEvents } from './events.ts'

const maxFaultsShown = 5

/** The events that are sent again, and which of their lines cannot be read. */
export function PastedFields({ text, onText }: { text: string; onText: (text: string) => void }) {
  const t = useTexts()
  const format = useNumbers()
  const shown = useDeferredValue(text)
  const read = useMemo(() => parseEvents(shown), [shown])
  const faults = useFaults(read)
  return (
    <div className="whole-row">
      <Textarea
        label={t.simulator.text}
        description={t.simulator.textHelp}
        placeholder={'{"time": "2026-01-05T09:00:00Z", "user": "alice", "method": "GET", "route": "/orders"}'}
        rows={8}
        value={text}
        onChange={({ currentTarget }) => onText(currentTarget.value)}
        spellCheck={false}
        autoComplete="off"
        error={faults}
        classNames={{ error: 'lines' }}
      />
      <Text size="sm" mt={4} aria-live="polite">
        {read.events > 0 && t.simulator.textRead(format(read.events), format(read.arrivals.length))}
      </Text>
    </div>
  )
}

/** What is wrong with the text, one fault a line; undefined when nothing is. */
function useFaults({ exceeded, faults }: PastedEvents): string | undefined {
  const t = useTexts()
  const format = useNumbers()
  if (exceeded !== undefined) return t.simulator.textExceeded(format(maxEvents.lines), format(maxEvents.characters))
  if (faults.length === 0) return undefined
  const further = faults.length - maxFaultsShown
  return [
    t.simulator.textFaults(format(faults.length)),
    ...faults
      .slice(0, maxFaultsShown)
      .map(({ line, code, found }) => t.simulator.textFault(format(line), t.simulator.expected[code], found)),
    ...(further > 0 ? [t.simulator.textMoreFaults(format(further))] : []),
  ].join('\n')
}
