import { Button, Group } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { type ActionId, actions, type InputOf, type ItemOf } from '../../../actions/index.ts'
import { callOperation } from '../../api/call.ts'
import { useLive } from '../../api/live.ts'
import type { Page } from '../../api/queries.ts'
import { useTexts } from '../../texts/settings.tsx'
import { State } from '../values/values.tsx'

interface NewerProps<Id extends ActionId> {
  readonly action: Id
  readonly input: InputOf<Id>
  /** The topic that says when to look. */
  readonly topic: string
  readonly keyOf: (row: ItemOf<Id>) => string
  /** The keys of the rows that are shown; undefined while they are loading. */
  readonly shown: ReadonlySet<string> | undefined
}

const everyMs = 4_000

/** How many rows a list has that are not shown yet: a table never moves under its reader. */
export function Newer<Id extends ActionId>({ action, input, topic, keyOf, shown }: NewerProps<Id>) {
  const t = useTexts()
  const client = useQueryClient()
  const { operation } = actions[action]
  const [found, setFound] = useState<readonly string[]>([])
  const lookedAt = useRef(0)
  const live = useLive(topic, () => {
    if (shown === undefined || performance.now() - lookedAt.current < everyMs) return
    lookedAt.current = performance.now()
    const page = callOperation(operation, { ...input, cursor: undefined } as InputOf<Id>) as Promise<Page<ItemOf<Id>>>
    void page.then(({ items }) => setFound(items.map(keyOf))).catch(() => {})
  })
  const count = found.filter((key) => shown?.has(key) === false).length
  return (
    <Group gap="sm" className="newer" aria-live="polite">
      <State tone={live ? 'good' : 'neutral'}>{live ? t.common.live : t.common.polling}</State>
      {count > 0 && (
        <Button
          size="xs"
          onClick={() => {
            setFound([])
            void client.resetQueries({ queryKey: [operation, 'pages'] })
          }}
        >
          {t.common.newer(count)}
        </Button>
      )}
    </Group>
  )
}
