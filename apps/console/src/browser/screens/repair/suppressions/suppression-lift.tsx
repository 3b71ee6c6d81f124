import type { Suppression } from '@gatehouse/client'
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useEffect, useRef, useState } from 'react'
import type { InputOf, OutputOf } from '../../../../actions/index.ts'
import { callOperation } from '../../../api/call.ts'
import { useAction } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { useKeptState } from '../../../forms/kept-state.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'

/** The form as it is while it is closed. */
const closed = { isOpen: false, reason: '', typed: '' }
type LiftForm = typeof closed

/** The button that lifts one suppression; a complaint needs a reason. */
export function LiftSuppression({ suppression: { id, reason, user_id, channel } }: { suppression: Suppression }) {
  const t = useTexts()
  const may = useMay()
  const [form, write] = useKeptState(`lift ${id}`, closed)
  const mutation = useAction('liftSuppression')
  if (!may('liftSuppression')) return null
  const isComplaint = reason === 'complained'
  const done = () => {
    write(closed)
    notifications.show({ message: t.suppressions.lifted, color: 'green' })
  }
  return (
    <>
      <Button
        size="xs"
        variant="default"
        onClick={() => {
          mutation.reset()
          write({ isOpen: true })
        }}
        aria-label={`${t.suppressions.lift}: ${user_id} ${channel}`}
      >
        {t.suppressions.lift}
      </Button>
      <LiftDialog
        form={form}
        write={write}
        text={isComplaint ? t.suppressions.liftComplaint : t.suppressions.liftText}
        needsReason={isComplaint}
        mutation={mutation}
        lift={(why) =>
          mutation.mutate({ suppression_id: id, ...(why === '' ? {} : { lift_reason: why }) }, { onSuccess: done })
        }
      />
    </>
  )
}

/** The button that lifts all that match, after they were counted and the number was typed. */
export function LiftSuppressions({ selection }: { selection: Readonly<Record<string, string>> }) {
  const t = useTexts()
  const { settings } = useSettings()
  const [form, write] = useKeptState(`lift ${JSON.stringify(selection)}`, closed)
  const [counted, setCounted] = useState<OutputOf<'liftSuppressions'>>()
  const [fault, setFault] = useState<Error | null>(null)
  const mutation = useAction('liftSuppressions')
  const input = selection as InputOf<'liftSuppressions'>
  const { matched = 0, complaints = 0 } = counted ?? {}
  const format = (count: number) => count.toLocaleString(settings.language)
  const count = useRef(() => {})
  count.current = () => {
    mutation.reset()
    write({ isOpen: true })
    callOperation('suppressions.liftMany', { ...input, dry_run: true }).then(setCounted, setFault)
  }
  // Whoever comes back from a sign-in sees what matches now.
  const wasOpen = useRef(form.isOpen)
  useEffect(() => {
    if (wasOpen.current) count.current()
  }, [])
  const done = () => {
    setCounted(undefined)
    write(closed)
    notifications.show({ message: t.suppressions.liftedMany, color: 'green' })
  }
  const text = `${t.suppressions.liftManyText(format(matched))} ${complaints > 0 ? t.suppressions.complaints(format(complaints)) : ''}`
  return (
    <>
      <Button variant="light" color="red" onClick={() => count.current()}>
        {t.suppressions.liftMany}
      </Button>
      <Refusal error={fault} />
      <LiftDialog
        form={{ ...form, isOpen: form.isOpen && counted !== undefined }}
        write={write}
        text={matched === 0 ? t.suppressions.nothingToLift : text}
        needsReason={complaints > 0}
        word={String(matched)}
        mutation={mutation}
        lift={(why) => mutation.mutate({ ...input, ...(why === '' ? {} : { lift_reason: why }) }, { onSuccess: done })}
      />
    </>
  )
}

interface LiftDialogProps {
  readonly form: LiftForm
  readonly write: (changed: Partial<LiftForm>) => void
  readonly text: string
  readonly needsReason: boolean
  /** What has to be typed. */
  readonly word?: string
  readonly mutation: { readonly isPending: boolean; readonly error: Error | null }
  readonly lift: (reason: string) => void
}

function LiftDialog({ form, write, text, needsReason, word, mutation, lift }: LiftDialogProps) {
  const t = useTexts()
  const { isOpen, reason, typed } = form
  const close = () => write(closed)
  const isReady = (word === undefined || typed === word) && (!needsReason || reason.trim() !== '')
  return (
    <Dialog title={t.suppressions.liftManyTitle} open={isOpen} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) lift(reason.trim())
        }}
      >
        <Stack>
          <Text>{text}</Text>
          {needsReason && (
            <TextInput
              label={t.suppressions.liftReason}
              value={reason}
              onChange={(event) => write({ reason: event.currentTarget.value })}
              required
              maxLength={500}
              data-autofocus
            />
          )}
          {word !== undefined && word !== '0' && (
            <TextInput
              label={t.confirm.type(word)}
              value={typed}
              onChange={(event) => write({ typed: event.currentTarget.value })}
              autoComplete="off"
            />
          )}
          <Refusal error={mutation.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t.common.cancel}
            </Button>
            <Button type="submit" color="red" loading={mutation.isPending} disabled={!isReady || word === '0'}>
              {t.suppressions.lift}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
