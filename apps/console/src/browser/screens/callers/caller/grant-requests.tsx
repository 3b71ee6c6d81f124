import { Button, Group, NumberInput, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import type { InputOf } from '../../../../actions/index.ts'
import { useAction } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { useTexts } from '../../../texts/settings.tsx'

interface GrantRequestsProps {
  readonly input: Omit<InputOf<'grantRequests'>, 'amount'>
}

/** A button that opens a dialog for how many requests are given back under a policy. */
export function GrantRequests({ input }: GrantRequestsProps) {
  const t = useTexts()
  const may = useMay()
  const [open, setOpen] = useState(false)
  const [amount, setAmount] = useState<number | string>(10)
  const mutation = useAction('grantRequests')
  if (!may('grantRequests')) return null
  const submit = () =>
    mutation.mutate(
      { ...input, amount: Number(amount) },
      {
        onSuccess: () => {
          setOpen(false)
          notifications.show({ message: t.callers.granted, color: 'green' })
        },
      },
    )
  return (
    <>
      <Button
        size="xs"
        variant="default"
        aria-label={`${t.callers.grant}: ${input.policy}`}
        onClick={() => {
          mutation.reset()
          setOpen(true)
        }}
      >
        {t.callers.grant}
      </Button>
      <Dialog title={t.callers.grantTitle(input.policy)} open={open} close={() => setOpen(false)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            submit()
          }}
        >
          <Stack>
            <Text size="sm">{t.callers.grantText}</Text>
            <NumberInput
              label={t.callers.amount}
              value={amount}
              onChange={setAmount}
              min={1}
              max={2 ** 31 - 1}
              allowDecimal={false}
              hideControls
              required
              data-autofocus
            />
            <Refusal error={mutation.error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setOpen(false)}>
                {t.common.cancel}
              </Button>
              <Button type="submit" loading={mutation.isPending} disabled={!(Number(amount) >= 1)}>
                {t.callers.grant}
              </Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  )
}
