import { Alert, Button, Code, Group, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useAction, usePages } from '../../api/queries.ts'
import { useMay } from '../../api/session.tsx'
import { Act } from '../../parts/act.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Page } from '../../parts/page.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { Empty } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { Id, State, Time, Words } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** The API keys: who owns them, until when, and the way to a new one. */
export function ApiKeysScreen() {
  const t = useTexts()
  const may = useMay()
  const [open, setOpen] = useState(false)
  const [key, setKey] = useState<string>()
  const query = usePages('listApiKeys')
  const create = may('createApiKey') ? <Button onClick={() => setOpen(true)}>{t.apiKeys.create}</Button> : undefined
  return (
    <Page title={t.sections.apiKeys} lead={t.apiKeys.lead} actions={create}>
      {key !== undefined && (
        <Alert color="green" title={t.apiKeys.created} role="status">
          <Id value={key}>
            <Code>{key}</Code>
          </Id>
        </Alert>
      )}
      <List
        action="listApiKeys"
        query={query}
        label={t.sections.apiKeys}
        keyOf={({ id }) => id}
        empty={<Empty text={t.apiKeys.empty} />}
        columns={[
          { label: t.apiKeys.name, render: ({ name }) => name },
          { label: t.apiKeys.owner, render: ({ owner }) => owner },
          { label: t.apiKeys.scopes, render: ({ scopes }) => <Words values={scopes} /> },
          { label: t.apiKeys.plan, render: ({ plan }) => plan },
          { label: t.users.created, render: (one) => <Time at={one.created_at} /> },
          {
            label: t.apiKeys.expires,
            render: (one) =>
              one.expires_at === undefined ? (
                <State tone="careful">{t.apiKeys.noExpiry}</State>
              ) : (
                <Time at={one.expires_at} />
              ),
          },
          {
            label: t.common.actions,
            isAction: true,
            render: ({ id, name }) => (
              <Act
                action="revokeApiKey"
                input={{ id }}
                label={t.apiKeys.revoke}
                about={name}
                text={t.apiKeys.revokeText}
                word={name}
                done={t.apiKeys.revoked}
              />
            ),
          },
        ]}
      />
      <NewKey open={open} close={() => setOpen(false)} onCreated={setKey} />
    </Page>
  )
}

interface NewKeyProps {
  readonly open: boolean
  readonly close: () => void
  readonly onCreated: (key: string) => void
}

function NewKey({ open, close, onCreated }: NewKeyProps) {
  const t = useTexts()
  const mutation = useAction('createApiKey')
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const scopes = text('scopes').split(/\s+/).filter(Boolean)
    const expires = text('expires')
    const body = {
      owner: text('owner'),
      name: text('name'),
      ...(scopes.length > 0 ? { scopes } : {}),
      ...(expires === '' ? {} : { expires_at: new Date(expires).toISOString() }),
    }
    mutation.mutate(body, {
      onSuccess: ({ key }) => {
        onCreated(key ?? '')
        close()
      },
    })
  }
  return (
    <Dialog title={t.apiKeys.create} open={open} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          submit(new FormData(event.currentTarget))
        }}
      >
        <Stack>
          <TextInput name="name" label={t.apiKeys.name} required maxLength={200} data-autofocus />
          <TextInput name="owner" label={t.apiKeys.owner} required maxLength={128} />
          <TextInput name="scopes" label={t.apiKeys.scopes} description={t.apiKeys.scopesHelp} />
          <TextInput name="expires" type="date" label={t.apiKeys.expires} description={t.apiKeys.expiresHelp} />
          <Refusal error={mutation.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={mutation.isPending}>
              {t.apiKeys.create}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
