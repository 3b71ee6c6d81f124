import { Table } from '@mantine/core'
import { useTexts } from '../../texts/settings.tsx'
import { differencesOf } from './declaration.ts'

interface DifferencesProps {
  readonly before: unknown
  readonly after: unknown
  /** What the two columns are called. */
  readonly names: readonly [before: string, after: string]
  readonly label: string
}

/** In what two values differ, member by member. */
export function Differences({ before, after, names, label }: DifferencesProps) {
  const t = useTexts()
  const [old, fresh] = names
  return (
    <Table className="differences" aria-label={label} verticalSpacing={4}>
      <Table.Thead>
        <Table.Tr>
          {[t.limit.member, old, fresh].map((name) => (
            <Table.Th key={name} scope="col">
              {name}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {differencesOf(before, after).map((one) => (
          <Table.Tr key={one.member}>
            <Table.Th scope="row">{one.member}</Table.Th>
            <Table.Td>{one.before === undefined ? '–' : <del>{one.before}</del>}</Table.Td>
            <Table.Td>{one.after === undefined ? '–' : <ins>{one.after}</ins>}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
