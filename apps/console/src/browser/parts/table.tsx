import { Button, Group, Table } from '@mantine/core'
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { ActionId } from '../../actions/index.ts'
import type { Page } from '../api/queries.ts'
import { useTexts } from '../texts/settings.tsx'
import { Answer } from './states.tsx'

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
}

/** A table, whose rows become cards where the page is narrow. */
export function Rows<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <Table className="rows panel" aria-label={label} verticalSpacing="xs">
      <Table.Thead>
        <Table.Tr>
          {columns.map((column) => (
            <Table.Th key={column.label} scope="col">
              {column.isAction ? <span className="visually-hidden">{column.label}</span> : column.label}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={keyOf(row)}>
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

interface ListProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly action: ActionId
  readonly query: UseInfiniteQueryResult<InfiniteData<Page<Row>, string | undefined>>
  /** What is shown instead of no rows. */
  readonly empty: ReactNode
}

/** A list that is read page by page, with its states. */
export function List<Row>({ action, query, empty, ...table }: ListProps<Row>) {
  const t = useTexts()
  return (
    <Answer action={action} query={query}>
      {({ pages }) => {
        const rows = pages.flatMap(({ items }) => items)
        if (rows.length === 0) return empty
        return (
          <>
            <Rows {...table} rows={rows} />
            {query.hasNextPage && (
              <Group justify="center" mt="md">
                <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
                  {t.common.more}
                </Button>
              </Group>
            )}
          </>
        )
      }}
    </Answer>
  )
}
