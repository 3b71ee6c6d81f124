import { Button, type ButtonProps, Group, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { type ActionId, actions, type InputOf, type OutputOf } from '../../../actions/index.ts'
import { needsSignIn } from '../../api/problem.ts'
import type { Complete } from '../../api/queries.ts'
import { signIn, useMay } from '../../api/session.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { Dialog } from '../dialog.tsx'
import { isUnread, type Shown, useActUpon } from './act-upon.ts'
import { Changed } from './changed.tsx'
import { Refusal } from './refusal.tsx'
import { SignInAgain } from './sign-in-again.tsx'

interface ActProps<Id extends ActionId> {
  readonly action: Id
  readonly input: InputOf<Id>
  /** Adds to the input what presses are not compared by. */
  readonly complete?: Complete<Id>
  /** What it is done to, as it is shown: it is not done to what somebody else changed since. */
  readonly shown?: Shown | undefined
  readonly label: string
  /** What it does to whom, for screen readers that meet the button in a table. */
  readonly about?: string
  /** What happens; asked for before it does. Dangerous actions have one, and a word to type. */
  readonly text?: string
  readonly word?: string
  /** What is said afterwards. */
  readonly done: string
  readonly onDone?: (answer: OutputOf<Id>) => void
  readonly size?: ButtonProps['size']
  /** The key that presses it in the row of a table that has the focus. */
  readonly hotkey?: 'e' | 'r'
}

/** The button of an action: shown to the roles that have it, with the confirmation that it needs. */
export function Act<Id extends ActionId>(props: ActProps<Id>) {
  const { action, input, complete, shown, label, about, text, done, onDone, size = 'xs', hotkey } = props
  const may = useMay()
  const [open, setOpen] = useState(false)
  const acting = useActUpon(action, shown, complete)
  if (!may(action)) return null
  const handlers = {
    onSuccess: (answer: OutputOf<Id>) => {
      setOpen(false)
      notifications.show({ message: done, color: 'green' })
      onDone?.(answer)
    },
    onError: (error: Error) => {
      if (text === undefined && !needsSignIn(error)) notifications.show({ message: error.message, color: 'red' })
    },
  }
  const press = () => {
    acting.look()
    if (text === undefined) acting.run(input, handlers, shown)
    else setOpen(true)
  }
  const { dangerous } = actions[action]
  return (
    <>
      <Button
        size={size}
        variant={dangerous ? 'light' : 'default'}
        {...(dangerous ? { color: 'red' } : {})}
        loading={acting.isPending && text === undefined}
        onClick={press}
        aria-label={about === undefined ? undefined : `${label}: ${about}`}
        data-key={hotkey}
      >
        {label}
      </Button>
      {text === undefined && <SignInAgain error={acting.error} close={acting.reset} />}
      {text !== undefined && (
        <Confirmation
          {...props}
          text={text}
          open={open}
          close={() => {
            setOpen(false)
            acting.giveUp()
          }}
          run={() => acting.run(input, handlers)}
          acting={acting}
        />
      )}
    </>
  )
}

interface ConfirmationProps {
  readonly label: string
  readonly text: string
  readonly word?: string
  readonly open: boolean
  readonly close: () => void
  readonly run: () => void
  readonly acting: Pick<ReturnType<typeof useActUpon>, 'isPending' | 'error' | 'outdated'>
}

function Confirmation({ label, text, word, open, close, run, acting }: ConfirmationProps) {
  const t = useTexts()
  const [typed, setTyped] = useState('')
  const { isPending, error, outdated } = acting
  const again = needsSignIn(error)
  return (
    <Dialog title={t.confirm.title} open={open} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (again) signIn(true)
          else if (word === undefined || typed === word) run()
        }}
      >
        <Stack>
          <Text>{again ? t.confirm.againText : text}</Text>
          {!again && word !== undefined && (
            <TextInput
              label={t.confirm.type(word)}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
          )}
          {outdated === undefined ? !again && <Refusal error={error} /> : <Changed of={outdated} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t.common.cancel}
            </Button>
            <Button
              type="submit"
              {...(again ? {} : { color: 'red.9' })}
              loading={isPending || isUnread(outdated)}
              disabled={!again && word !== undefined && typed !== word}
            >
              {again ? t.confirm.again : label}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
