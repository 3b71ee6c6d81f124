import type { User } from '@gatehouse/client'
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { download } from '../../../api/call.ts'
import { useMay } from '../../../api/session.tsx'
import { Act } from '../../../parts/changes/act.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** What the services keep of a user: to hand out, and to erase. */
export function UserData({ id, user }: { id: string; user: User | undefined }) {
  const t = useTexts()
  const may = useMay()
  const [error, setError] = useState<Error | null>(null)
  const run = async () => {
    setError(null)
    await download('users.data.export', { id }, `data-of-${id}.json`).catch(setError)
  }
  return (
    <Stack maw={640}>
      {may('exportUserData') && (
        <Stack component="section" className="panel" aria-label={t.user.exportData}>
          <Title order={2}>{t.user.exportData}</Title>
          <Text size="sm">{t.user.exportDataText}</Text>
          <Refusal error={error} />
          <Group>
            <Button variant="default" onClick={() => void run()}>
              {t.user.exportData}
            </Button>
          </Group>
        </Stack>
      )}
      {may('eraseUserData') && (
        <Stack component="section" className="panel" aria-label={t.user.eraseData}>
          <Title order={2}>{t.user.eraseData}</Title>
          <Text size="sm">{user === undefined ? t.user.eraseDataText : t.user.eraseDataOfAccount}</Text>
          <Group>
            <Act
              action="eraseUserData"
              input={{ id }}
              label={t.user.eraseData}
              text={t.user.eraseDataConfirm}
              word={id}
              done={t.user.dataErased}
            />
          </Group>
        </Stack>
      )}
    </Stack>
  )
}
