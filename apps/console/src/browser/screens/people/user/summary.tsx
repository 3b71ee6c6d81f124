import type { User } from '@gatehouse/client'
import { Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useMay } from '../../../api/session.tsx'
import { Masked } from '../../../parts/values/masked.tsx'
import { Facts, Id, Json, State, Time, Words } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { LockState } from '../lock-state.tsx'
import { Reach } from './reach.tsx'
import { RevealAccount } from './reveal.tsx'
import { Standing } from './standing.tsx'

/** Who the user is, which channels reach them, and what of the caps is used. */
export function UserSummary({ id, user }: { id: string; user: User | undefined }) {
  const may = useMay()
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
      {user !== undefined && <Account user={user} />}
      {may('readStanding') && (
        <Stack>
          <Reach id={id} />
          <Standing id={id} />
        </Stack>
      )}
    </SimpleGrid>
  )
}

/** What the account is. Personal data is masked by the API for those who may not read it. */
function Account({ user }: { user: User }) {
  const t = useTexts()
  const { email } = user
  return (
    <Stack component="section" className="panel" aria-label={t.user.account} h="fit-content">
      <Title order={2}>{t.user.account}</Title>
      <Facts
        facts={[
          [t.users.id, <Id key="id" value={user.id} />],
          [t.users.state, <LockState key="state" locked={user.locked} />],
          [t.users.username, <Masked key="username">{user.username}</Masked>],
          [t.users.email, email && <Email key="email" email={email} verified={user.email_verified} />],
          [t.users.plan, user.plan],
          [t.users.roles, <Words key="roles" values={user.roles} />],
          [
            t.users.lastSignIn,
            user.last_sign_in_at === undefined ? t.common.never : <Time key="signedIn" at={user.last_sign_in_at} />,
          ],
          [t.users.created, <Time key="created" at={user.created_at} />],
          [t.users.updated, <Time key="updated" at={user.updated_at} />],
        ]}
      />
      {Object.keys(user.claims).length > 0 && (
        <div>
          <Text size="xs" c="dimmed" mb={4}>
            {t.users.claims}
          </Text>
          <Json label={t.users.claims} value={user.claims} />
        </div>
      )}
      <RevealAccount user={user} />
    </Stack>
  )
}

function Email({ email, verified }: { email: string; verified: boolean }) {
  const t = useTexts()
  return (
    <Group gap={6}>
      <Masked>{email}</Masked>
      <State tone={verified ? 'good' : 'careful'}>{verified ? t.users.verified : t.users.unverified}</State>
    </Group>
  )
}
