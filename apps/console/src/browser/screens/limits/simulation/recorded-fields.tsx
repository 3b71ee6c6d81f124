import { Button, NativeSelect, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { actions } from '../../../../actions/index.ts'
import { callOperation } from '../../../api/call.ts'
import { useFilters } from '../../../api/filters.ts'
import { useTexts } from '../../../texts/settings.tsx'
import { useNumbers } from '../words.tsx'
import type { RecordedMinute } from './traffic.ts'

const kinds = ['user', 'client', 'key', 'ip'] as const

/** The caller whose last hour is sent again: of the address, where another page named one, or chosen here. */
export function RecordedFields({ onMinutes }: { onMinutes: (minutes: readonly RecordedMinute[]) => void }) {
  const t = useTexts()
  const format = useNumbers()
  const [{ kind: namedKind = 'user', id: namedId = '' }] = useFilters(['kind', 'id'])
  const [kind, setKind] = useState(namedKind)
  const [id, setId] = useState(namedId)
  const { load, state } = useMinutes(onMinutes)
  const first = useRef(namedId === '' ? undefined : () => load(namedKind, namedId))
  useEffect(() => {
    first.current?.()
    first.current = undefined
  }, [])
  return (
    <>
      <NativeSelect
        label={t.overrides.kind}
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value)}
        data={kinds.map((value) => ({ value, label: t.overrides.kinds[value] }))}
      />
      <TextInput
        label={t.overrides.id}
        value={id}
        onChange={(event) => setId(event.currentTarget.value)}
        autoComplete="off"
        maxLength={512}
      />
      <div className="field-action">
        <Button variant="default" disabled={id.trim() === ''} onClick={() => load(kind, id.trim())}>
          {t.simulator.load}
        </Button>
        <Text size="sm" aria-live="polite">
          {state === undefined ? '' : typeof state === 'string' ? state : t.simulator.recorded(format(state.count))}
        </Text>
      </div>
    </>
  )
}

/** Reads the minutes of a caller: what was allowed and what was rejected is traffic alike. */
function useMinutes(onMinutes: (minutes: readonly RecordedMinute[]) => void) {
  const client = useQueryClient()
  const [state, setState] = useState<{ readonly count: number } | string>()
  const { operation } = actions.readCaller
  const load = (kind: string, id: string) =>
    void client
      .fetchQuery({
        queryKey: [operation, { kind, id }],
        queryFn: ({ signal }) => callOperation(operation, { kind, id }, { signal }),
      })
      .then(
        ({ minutes }) => {
          const counted = minutes.map(({ at, allowed, rejected }) => ({ at, count: allowed + rejected }))
          onMinutes(counted)
          setState({ count: counted.reduce((sum, { count }) => sum + count, 0) })
        },
        (error: Error) => setState(error.message),
      )
  return { load, state }
}
