import { Group, Stack, Title } from '@mantine/core'
import { useRead } from '../../../../api/queries.ts'
import { Act } from '../../../../parts/changes/act.tsx'
import { Answer, Empty } from '../../../../parts/states.tsx'
import { Rows } from '../../../../parts/table.tsx'
import { useTexts } from '../../../../texts/settings.tsx'
import { useSessionColumns } from '../../session-columns.tsx'
import { UserAccess } from './access.tsx'
import { UserGrants } from './grants.tsx'

/** Where a user is signed in, which clients have tokens, and what the user agreed to. */
export function UserSessions({ id }: { id: string }) {
  const t = useTexts()
  const query = useRead('listSessions', { id })
  const columns = useSessionColumns(false)
  return (
    <Stack gap="xl">
      <Stack component="section" aria-label={t.user.browsers} gap="sm">
        <Group justify="space-between">
          <Title order={2}>{t.user.browsers}</Title>
          <Act
            action="endAllSessions"
            input={{ id }}
            label={t.user.endAll}
            text={t.user.endAllText}
            done={t.user.endedAll}
          />
        </Group>
        <Answer action="listSessions" query={query}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty text={t.user.noSessions} />
            ) : (
              <Rows label={t.user.browsers} rows={items} keyOf={(session) => session.id} columns={columns} />
            )
          }
        </Answer>
      </Stack>
      <Stack component="section" aria-label={t.user.grants} gap="sm">
        <Title order={2}>{t.user.grants}</Title>
        <UserGrants id={id} />
      </Stack>
      <Stack component="section" aria-label={t.user.access} gap="sm">
        <Title order={2}>{t.user.access}</Title>
        <UserAccess id={id} />
      </Stack>
    </Stack>
  )
}
