import { Button, Group, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { isLeaving } from '../../../api/leaving.ts'
import { Dialog } from '../../../parts/dialog.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** Asks before a draft that was not saved is left; a sign-in that an action requires brings it back. */
export function LeaveGuard({ isChanged }: { isChanged: boolean }) {
  const t = useTexts()
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: () => isChanged,
    enableBeforeUnload: () => isChanged && !isLeaving(),
    withResolver: true,
  })
  return (
    <Dialog title={t.editor.leave} open={status === 'blocked'} close={() => reset?.()}>
      <Stack>
        <Text>{t.editor.leaveText}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => reset?.()}>
            {t.editor.stay}
          </Button>
          <Button color="red" onClick={() => proceed?.()}>
            {t.editor.leaveAnyway}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
