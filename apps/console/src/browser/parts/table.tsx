import { Button, Checkbox, Group, Table } from '@mantine/core'
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { ActionId } from '../../actions/index.ts'
import type { Page } from '../api/queries.ts'
import { useTexts } from '../texts/settings.tsx'
import type { Selection } from './selection.ts'
import { Answer, Outdated } from './states.tsx'

/** A column of a table. */
export interface Column<Row> {
  readonly label: string
  readonly render: (row: Row) => ReactNode
  /** Buttons of the row stand at its end, without a heading that is shown. */
  readonly isAction?: boolean
}

interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Rows can be selected, by a box at their beginning and the key `x`. */
  readonly selection?: Selection
}

/**
 * A table, whose rows become cards where the page is narrow. Keys move among them (row-keys.ts): Enter opens the first
 * link of a row, `e` and `r` press the `Act` with that hotkey.
 */
export function Rows<Row>({ label, columns, rows, keyOf, selection }: TableProps<Row>) {
  return (
    <Table className="rows panel" aria-label={label} verticalSpacing="xs">
      <Table.Thead>
        <Table.Tr>
          {selection !== undefined && <SelectAll selection={selection} keys={rows.map(keyOf)} />}
          {columns.map((column) => (
            <Table.Th key={column.label} scope="col">
              {column.isAction ? <span className="visually-hidden">{column.label}</span> : column.label}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={keyOf(row)} tabIndex={-1}>
            {selection !== undefined && <SelectRow selection={selection} name={keyOf(row)} />}
            {columns.map((column) => (
              <Table.Td key={column.label} data-label={column.isAction ? undefined : column.label}>
                <div className={column.isAction ? 'cell actions' : 'cell'}>{column.render(row)}</div>
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function SelectAll({ selection, keys }: { selection: Selection; keys: readonly string[] }) {
  const t = useTexts()
  const selected = keys.filter((key) => selection.keys.has(key)).length
  return (
    <Table.Th className="select" scope="col">
      <Checkbox
        aria-label={t.common.select}
        checked={selected > 0 && selected === keys.length}
        indeterminate={selected > 0 && selected < keys.length}
        onChange={() => selection.toggleAll(keys)}
      />
    </Table.Th>
  )
}

function SelectRow({ selection, name }: { selection: Selection; name: string }) {
  const t = useTexts()
  return (
    <Table.Td className="select">
      <Checkbox
        aria-label={t.common.selectRow(name)}
        checked={selection.keys.has(name)}
        onChange={() => selection.toggle(name)}
      />
    </Table.Td>
  )
}

interface ListProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly action: ActionId
  readonly query: UseInfiniteQueryResult<InfiniteData<Page<Row>, string | undefined>>
  /** What is shown instead of no rows. */
  readonly empty: ReactNode
  /** What is said under the table in place of "Show more". */
  readonly more?: ReactNode
}

/** A list that is read page by page, with its states. */
export function List<Row>({ action, query, empty, more, ...table }: ListProps<Row>) {
  return (
    <Answer action={action} query={query}>
      {({ pages }) => {
        const rows = pages.flatMap(({ items }) => items)
        return (
          <>
            {rows.length === 0 ? empty : <Rows {...table} rows={rows} />}
            {more ?? (rows.length > 0 && <More query={query} />)}
          </>
        )
      }}
    </Answer>
  )
}

type Pages = Pick<
  UseInfiniteQueryResult<InfiniteData<Page<unknown>, string | undefined>>,
  'hasNextPage' | 'isFetchingNextPage' | 'isFetchNextPageError' | 'fetchNextPage' | 'error'
>

/** The button for the next page, while there is one. */
export function More({ query, label }: { query: Pages; label?: string }) {
  const t = useTexts()
  if (!query.hasNextPage) return null
  if (query.isFetchNextPageError) return <Outdated error={query.error} retry={() => query.fetchNextPage()} />
  return (
    <Group justify="center" mt="md">
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
        {label ?? t.common.more}
      </Button>
    </Group>
  )
}
