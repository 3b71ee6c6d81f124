import { ApiError } from '@gatehouse/client'
import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { InputOf } from '../../../actions/index.ts'
import { readAgain } from '../../api/queries.ts'
import { changeVersioned } from '../../api/versioned.ts'
import { useKeptState } from '../../forms/kept-state.ts'
import { Refusal } from '../../parts/changes/refusal.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { useTexts } from '../../texts/settings.tsx'
import type { Base, Declaration, StoredLimit } from './declaration.ts'
import { Differences } from './differences.tsx'

interface PublishProps {
  /** As it is stored now. */
  readonly limit: StoredLimit
  readonly declaration: Declaration
  /** The entity tag of what the draft was made from. */
  readonly ifMatch: string | undefined
  readonly title: string
  readonly text: string
  readonly open: boolean
  readonly close: () => void
  readonly onSaved: (saved: Base) => void
}

/** Stores a tier or policy as a new version, with a comment. Where somebody else was faster it shows both. */
export function Publish(props: PublishProps) {
  const { limit, declaration, ifMatch, title, text, open, close, onSaved } = props
  const t = useTexts()
  const name = `comment of ${title} ${limit.kind} ${limit.name}`
  const [{ comment }, write] = useKeptState(name, { comment: '' })
  const mutation = usePut(limit)
  const isConflict = mutation.error instanceof ApiError && mutation.error.status === 412
  const save = () =>
    mutation.mutate(
      { declaration, comment, ifMatch: isConflict ? limit.etag : ifMatch },
      {
        onSuccess: ({ version, etag }) => {
          notifications.show({ message: t.limit.saved(version), color: 'green' })
          write({ comment: '' })
          onSaved({ declaration, etag })
          close()
        },
      },
    )
  return (
    <Dialog
      title={title}
      open={open}
      close={() => {
        mutation.reset()
        close()
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Stack>
          <Text>{text}</Text>
          {isConflict ? (
            <Alert color="yellow" role="alert">
              <Text size="sm" mb="xs">
                {t.limit.conflict}
              </Text>
              <Differences
                before={limit.declaration}
                after={declaration}
                names={[t.limit.theirs, t.limit.mine]}
                label={t.limit.conflict}
              />
            </Alert>
          ) : (
            <Refusal error={mutation.error} />
          )}
          <TextInput
            label={t.limit.comment}
            description={t.limit.commentHelp}
            value={comment}
            onChange={(event) => write({ comment: event.currentTarget.value })}
            maxLength={500}
            autoComplete="off"
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={mutation.isPending}>
              {isConflict ? t.limit.overwrite : title}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}

interface Change {
  readonly declaration: Declaration
  readonly comment: string
  readonly ifMatch: string | undefined
}

/** Stores a declaration if it is still as it was read; afterwards, or when it is not, everything is read again. */
function usePut({ kind, name }: StoredLimit) {
  const id = kind === 'tiers' ? 'putTier' : 'putPolicy'
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ declaration, comment, ifMatch }: Change) => {
      const input = { name, declaration, comment } as InputOf<'putTier'>
      const { value } = await changeVersioned(id, { input, ifMatch })
      return value
    },
    onSettled: () => readAgain(client, id),
  })
}
