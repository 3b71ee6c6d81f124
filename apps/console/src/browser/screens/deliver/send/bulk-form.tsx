import { Code, Stack, Textarea } from '@mantine/core'
import { useState } from 'react'
import { useJsonWords } from '../../../forms/use-json-words.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Rows } from '../../../parts/table.tsx'
import { State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { findEventsFault, parseEvents } from '../event-data.ts'
import { withOwnKeys } from './own-keys.ts'

interface BulkLine {
  readonly status: number
  readonly id?: string
  readonly detail?: string
}

interface BulkFormProps {
  /** That of the form. */
  readonly id: string
  readonly events: string
  readonly change: (events: string) => void
  /** What is written was sent, all of it: it is not kept for a reload, and sent again it is something else. */
  readonly finish: () => void
}

/** Sends many events at once and shows what became of each. */
export function BulkForm({ id, events, change, finish }: BulkFormProps) {
  const t = useTexts()
  const [lines, setLines] = useState<readonly BulkLine[]>([])
  const jsonWords = useJsonWords()
  const badEvents = (text: string) => [jsonWords(findEventsFault(text)), t.send.badEvents].filter(Boolean).join(' ')
  const parsed = events.trim() === '' ? undefined : parseEvents(events)
  return (
    <Stack gap="sm">
      <Textarea
        label={t.send.bulk}
        value={events}
        onChange={(event) => change(event.currentTarget.value)}
        autosize
        minRows={8}
        maxRows={24}
        spellCheck={false}
        className="code"
        placeholder='{"event": "order.shipped", "user_id": "alice", "data": {"order_id": "A-1"}}'
        error={events.trim() !== '' && parsed === undefined ? badEvents(events) : undefined}
      />
      {parsed !== undefined && (
        <div>
          <Act
            action="sendMany"
            input={{ body: parsed }}
            complete={async () => ({ body: await withOwnKeys(id, parsed) })}
            label={t.send.sendMany(parsed.length)}
            text={t.send.confirmMany(parsed.length)}
            done={t.common.done}
            size="sm"
            onDone={(answer) => {
              const answered = readLines(answer)
              // Where some were refused, the others are not sent again with them.
              if (answered.every(isAccepted)) finish()
              setLines(answered)
            }}
          />
        </div>
      )}
      {lines.length > 0 && <Results lines={lines} />}
    </Stack>
  )
}

const isAccepted = ({ status }: BulkLine) => status === 202

/** The lines of the answer, one for each event in order. */
function readLines(answer: unknown): readonly BulkLine[] {
  return String(answer)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as BulkLine)
}

const maxShown = 200

function Results({ lines }: { lines: readonly BulkLine[] }) {
  const t = useTexts()
  const numbered = lines.map((line, n) => ({ ...line, n: n + 1 }))
  // What was refused comes first: it is what there is to do.
  const shown = numbered.toSorted((a, b) => b.status - a.status || a.n - b.n).slice(0, maxShown)
  return (
    <Rows
      label={t.send.results}
      keyOf={({ n }) => String(n)}
      rows={shown}
      columns={[
        { label: t.send.position, render: ({ n }) => n },
        {
          label: t.send.results,
          render: (line) => (
            <State tone={isAccepted(line) ? 'good' : 'bad'}>{isAccepted(line) ? t.send.accepted : line.status}</State>
          ),
        },
        { label: t.send.answer, render: ({ id, detail }) => <Code className="quote">{id ?? detail}</Code> },
      ]}
    />
  )
}
