import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { type Difference, differences } from '../../forms/difference.ts'
import { useTexts } from '../../texts/settings.tsx'
import { Rows } from '../table.tsx'
import { StoredValue } from './stored-value.tsx'

interface ConflictProps<Values extends object> {
  readonly mine: Values
  readonly theirs: Values
  readonly labels: Readonly<Record<Extract<keyof Values, string>, string>>
  readonly isBusy: boolean
  readonly keepMine: () => void
  readonly takeTheirs: () => void
}

/** What a person wanted and what is stored now, where they differ, and the choice between them (412). */
export function Conflict<Values extends object>({
  mine,
  theirs,
  labels,
  isBusy,
  keepMine,
  takeTheirs,
}: ConflictProps<Values>) {
  const t = useTexts()
  const found = differences(mine, theirs)
  return (
    <Alert color="yellow" title={t.conflict.title} role="alert">
      <Stack gap="sm">
        <Text size="sm">{found.length === 0 ? t.conflict.same : t.conflict.text}</Text>
        {found.length > 0 && (
          <Rows<Difference<Extract<keyof Values, string>>>
            label={t.conflict.title}
            rows={found}
            keyOf={({ name }) => name}
            columns={[
              { label: t.conflict.member, render: ({ name }) => labels[name] },
              { label: t.conflict.mine, render: (one) => <StoredValue value={one.mine} /> },
              { label: t.conflict.theirs, render: (one) => <StoredValue value={one.theirs} /> },
            ]}
          />
        )}
        <Group>
          <Button type="button" size="xs" loading={isBusy} onClick={keepMine}>
            {t.conflict.keepMine}
          </Button>
          <Button type="button" size="xs" variant="default" onClick={takeTheirs}>
            {t.conflict.takeTheirs}
          </Button>
        </Group>
      </Stack>
    </Alert>
  )
}
