import { Button, Checkbox, Group, Table, Text } from '@mantine/core'
import { type InfiniteData, type UseInfiniteQueryResult, useQueryClient } from '@tanstack/react-query'
import { memo, type ReactNode } from 'react'
import { type ActionId, actions } from '../../actions/index.ts'
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
          <OneRow
            key={keyOf(row)}
            row={row}
            columns={columns}
            name={keyOf(row)}
            isSelected={selection?.keys.has(keyOf(row))}
            toggle={selection?.toggle}
          />
        ))}
      </Table.Tbody>
    </Table>
  )
}

interface OneRowProps<Row> {
  readonly row: Row
  readonly columns: readonly Column<Row>[]
  readonly name: string
  /** Undefined where rows cannot be selected. */
  readonly isSelected: boolean | undefined
  readonly toggle: Selection['toggle'] | undefined
}

/** A row. Where its table keeps the same columns it is drawn once, however many others come after it. */
const OneRow = memo(function OneRow<Row>({ row, columns, name, isSelected, toggle }: OneRowProps<Row>) {
  return (
    <Table.Tr tabIndex={-1}>
      {isSelected !== undefined && <SelectRow name={name} isSelected={isSelected} toggle={toggle} />}
      {columns.map((column) => (
        <Table.Td key={column.label} data-label={column.isAction ? undefined : column.label}>
          <div className={column.isAction ? 'cell actions' : 'cell'}>{column.render(row)}</div>
        </Table.Td>
      ))}
    </Table.Tr>
  )
}) as <Row>(props: OneRowProps<Row>) => ReactNode

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

interface SelectRowProps {
  readonly name: string
  readonly isSelected: boolean
  readonly toggle: Selection['toggle'] | undefined
}

function SelectRow({ name, isSelected, toggle }: SelectRowProps) {
  const t = useTexts()
  return (
    <Table.Td className="select">
      <Checkbox aria-label={t.common.selectRow(name)} checked={isSelected} onChange={() => toggle?.(name)} />
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
      {({ pages, pageParams }) => {
        const rows = pages.flatMap(({ items }) => items)
        return (
          <>
            {pageParams[0] !== undefined && <Dropped action={action} />}
            {rows.length === 0 ? empty : <Rows {...table} rows={rows} />}
            {more ?? (rows.length > 0 && <More query={query} />)}
          </>
        )
      }}
    </Answer>
  )
}

/** The first rows made room for others: the way back to them. */
function Dropped({ action }: { action: ActionId }) {
  const t = useTexts()
  const client = useQueryClient()
  const restart = () => client.resetQueries({ queryKey: [actions[action].operation, 'pages'] })
  return (
    <Group mb="sm" gap="sm" role="note">
      <Text size="sm" c="dimmed">
        {t.common.dropped}
      </Text>
      <Button size="xs" variant="default" onClick={restart}>
        {t.common.restart}
      </Button>
    </Group>
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
