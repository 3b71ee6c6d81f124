import { Button, Group, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { isLeaving } from '../../api/leaving.ts'
import { useTexts } from '../../texts/settings.tsx'
import { Dialog } from '../dialog.tsx'

interface LeaveGuardProps {
  /** Whether something would be lost, asked when the person leaves. */
  readonly isChanged: () => boolean
}

/** Asks before what was not saved is left. */
export function LeaveGuard({ isChanged }: LeaveGuardProps) {
  const t = useTexts()
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: isChanged,
    enableBeforeUnload: () => isChanged() && !isLeaving(),
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
