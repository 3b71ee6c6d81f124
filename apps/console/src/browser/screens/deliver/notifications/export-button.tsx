import type { NotificationSummary } from '@gatehouse/client'
import { Button } from '@mantine/core'
import { notifications as messages } from '@mantine/notifications'
import { useRef, useState } from 'react'
import type { InputOf } from '../../../../actions/index.ts'
import { callOperation } from '../../../api/call.ts'
import { useTexts } from '../../../texts/settings.tsx'
import { csvOf } from './csv.ts'

/** The most notifications of one file. */
const maxRows = 10_000
const pageSize = 200

interface ExportButtonProps {
  readonly search: InputOf<'listNotifications'>
  /** Only these, where some are selected. */
  readonly selected: ReadonlySet<string>
}

/** Downloads what the filters match, or what is selected, as CSV; says how far it is, and can be stopped. */
export function ExportButton({ search, selected }: ExportButtonProps) {
  const t = useTexts()
  const [count, setCount] = useState<number>()
  const stopping = useRef<AbortController>(undefined)
  const run = async () => {
    const stop = new AbortController()
    stopping.current = stop
    setCount(0)
    try {
      const { rows, isCut } = await readAll({ search, selected, signal: stop.signal, onRows: setCount })
      save(csvOf(rows))
      const message = isCut ? t.notifications.exportCut(rows.length) : t.notifications.exported(rows.length)
      messages.show({ message, color: 'green' })
    } catch (error) {
      if (!stop.signal.aborted) messages.show({ message: String((error as Error).message), color: 'red' })
    } finally {
      setCount(undefined)
    }
  }
  if (count !== undefined)
    return (
      <Button variant="default" onClick={() => stopping.current?.abort()}>
        {t.notifications.exporting(count)} · {t.notifications.stop}
      </Button>
    )
  return (
    <Button variant="default" onClick={() => void run()}>
      {t.notifications.export}
      {selected.size > 0 && ` · ${t.notifications.selected(selected.size)}`}
    </Button>
  )
}

interface ReadOptions extends ExportButtonProps {
  readonly signal: AbortSignal
  readonly onRows: (count: number) => void
}

async function readAll({ search, selected, signal, onRows }: ReadOptions) {
  const rows: NotificationSummary[] = []
  let cursor: string | undefined
  do {
    const page = await callOperation(
      'notifications.list',
      { ...search, limit: pageSize, ...(cursor === undefined ? {} : { cursor }) },
      { signal },
    )
    rows.push(...page.items.filter(({ id }) => selected.size === 0 || selected.has(id)))
    onRows(rows.length)
    cursor = page.next
  } while (cursor !== undefined && rows.length < (selected.size || maxRows))
  return { rows: rows.slice(0, maxRows), isCut: cursor !== undefined && selected.size === 0 }
}

function save(csv: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([csv], { type: 'text/csv' }))
  link.download = `notifications-${new Date().toISOString().slice(0, 10)}.csv`
  link.click()
  URL.revokeObjectURL(link.href)
}
