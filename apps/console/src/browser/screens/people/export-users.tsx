import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { InputOf } from '../../../actions/index.ts'
import { download } from '../../api/call.ts'
import { Refusal } from '../../parts/changes/refusal.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** Downloads every user that the filters select, after a word of warning. */
export function ExportUsers({ input }: { input: InputOf<'exportUsers'> }) {
  const t = useTexts()
  const [open, setOpen] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const run = async () => {
    setBusy(true)
    setError(null)
    try {
      await download('users.export', input, `users-${new Date().toISOString().slice(0, 10)}.ndjson`)
      setOpen(false)
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)))
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {t.users.export}
      </Button>
      <Dialog title={t.users.export} open={open} close={() => setOpen(false)}>
        <Stack>
          <Text size="sm">{t.users.exportText}</Text>
          <Refusal error={error} />
          <Group justify="flex-end">
            <Button loading={busy} onClick={() => void run()}>
              {t.users.export}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </>
  )
}
