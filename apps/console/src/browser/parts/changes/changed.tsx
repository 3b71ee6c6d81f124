import { Alert, Stack, Text } from '@mantine/core'
import { differences } from '../../forms/difference.ts'
import { useTexts } from '../../texts/settings.tsx'
import { Rows } from '../table.tsx'
import type { Outdated } from './act-upon.ts'
import { StoredValue } from './stored-value.tsx'

/** Members that change without an edit. */
const unedited: ReadonlySet<string> = new Set(['etag', 'last_used_at'])

/** Why an action was refused: what the person saw, and what is stored now, where they differ (412). */
export function Changed({ of: { before, now } }: { of: Outdated }) {
  const t = useTexts()
  const absent = Object.fromEntries(Object.keys(now ?? {}).map((name) => [name, undefined]))
  const members: Readonly<Record<string, unknown>> = { ...absent, ...before }
  const found = now === undefined ? [] : differences(members, { ...now }).filter(({ name }) => !unedited.has(name))
  return (
    <Alert color="yellow" title={t.conflict.title} role="alert">
      <Stack gap="sm">
        <Text size="sm">{t.conflict.notDone}</Text>
        {found.length > 0 && (
          <Rows
            label={t.conflict.title}
            rows={found}
            keyOf={({ name }) => name}
            columns={[
              { label: t.conflict.member, render: ({ name }) => <code>{name}</code> },
              { label: t.conflict.before, render: ({ mine }) => <StoredValue value={mine} /> },
              { label: t.conflict.theirs, render: ({ theirs }) => <StoredValue value={theirs} /> },
            ]}
          />
        )}
      </Stack>
    </Alert>
  )
}
