import { Button, Card, Group, Radio, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { OutputOf } from '../../../../actions/index.ts'
import { useFilters } from '../../../api/filters.ts'
import { useAction } from '../../../api/queries.ts'
import { useSession } from '../../../api/session.tsx'
import { useRecordForm } from '../../../forms/record-form.ts'
import { ShownOnce } from '../../../forms/shown-once.tsx'
import { LeaveGuard } from '../../../parts/changes/leave-guard.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Page } from '../../../parts/page.tsx'
import { Snippet } from '../../../parts/values/snippet.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { ClientFields } from './client-fields.tsx'
import {
  type ClientKind,
  type ClientValues,
  clientKinds,
  hasRedirects,
  hasSecret,
  idFor,
  newValues,
  registrationOf,
} from './registration.ts'
import { isUserScope } from './sign-in-link.ts'

/** The way to a new client: what it is for, its settings, and its secret. The step is in the address. */
export function NewClientScreen() {
  const t = useTexts()
  const [{ kind: chosen }, choose] = useFilters(['kind'])
  const [made, setMade] = useState<OutputOf<'createClient'>>()
  const kind = clientKinds.find((one) => one === chosen)
  if (made !== undefined) return <Made client={made} />
  if (kind === undefined) return <ChooseKind choose={(next) => choose({ kind: next })} />
  return (
    <Page title={t.clients.newTitle} lead={t.clients.kinds[kind].text}>
      <NewClient key={kind} kind={kind} back={() => choose({})} onMade={setMade} />
    </Page>
  )
}

function ChooseKind({ choose }: { choose: (kind: ClientKind) => void }) {
  const t = useTexts()
  const [kind, setKind] = useState<ClientKind>('web')
  return (
    <Page title={t.clients.newTitle} lead={t.clients.newLead}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          choose(kind)
        }}
      >
        <Radio.Group label={t.clients.kind} value={kind} onChange={(value) => setKind(value as ClientKind)}>
          <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} mt="sm" mb="md">
            {clientKinds.map((one) => (
              <Card key={one} withBorder padding="md" component="label" className="choice">
                <Group wrap="nowrap" align="flex-start">
                  <Radio value={one} mt={2} aria-label={t.clients.kinds[one].name} />
                  <div>
                    <Text fw={600}>{t.clients.kinds[one].name}</Text>
                    <Text size="sm" c="dimmed">
                      {t.clients.kinds[one].text}
                    </Text>
                  </div>
                </Group>
              </Card>
            ))}
          </SimpleGrid>
        </Radio.Group>
        <Group>
          <Button type="submit">{t.clients.next}</Button>
          <Button variant="default" component={Link} to="/clients">
            {t.common.cancel}
          </Button>
        </Group>
      </form>
    </Page>
  )
}

interface NewClientProps {
  readonly kind: ClientKind
  readonly back: () => void
  readonly onMade: (client: OutputOf<'createClient'>) => void
}

interface NewValues extends ClientValues {
  readonly client_id: string
}

function NewClient({ kind, back, onMade }: NewClientProps) {
  const t = useTexts()
  const mutation = useAction('createClient')
  const initial: NewValues = { ...newValues(kind), client_id: '' }
  const { form, rest, show, isTyped, finish } = useRecordForm({ name: `new client ${kind}`, initial })
  const suggested = idFor(form.values.client_name)
  const submit = form.onSubmit(({ client_id: typed, ...values }) => {
    show(null)
    mutation.mutate(registrationOf(kind, typed === '' ? suggested : typed, values), {
      onSuccess: (client) => {
        finish()
        onMade(client)
      },
      onError: show,
    })
  })
  return (
    <form className="panel" onSubmit={submit}>
      <Stack maw={640}>
        <TextInput label={t.clients.name} required maxLength={200} {...form.getInputProps('client_name')} />
        <TextInput
          label={t.clients.id}
          description={t.clients.idHelp}
          placeholder={suggested}
          maxLength={128}
          {...form.getInputProps('client_id')}
        />
        <ClientFields form={form as never} hasRedirects={hasRedirects(kind)} isPublic={!hasSecret(kind)} />
        <Refusal error={rest} />
        <LeaveGuard isChanged={isTyped} />
        <Group justify="flex-end">
          <Button variant="default" onClick={back}>
            {t.clients.back}
          </Button>
          <Button type="submit" loading={mutation.isPending}>
            {t.clients.create}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function Made({ client }: { client: OutputOf<'createClient'> }) {
  const t = useTexts()
  const navigate = useNavigate()
  const { issuer, api_url: baseUrl } = useSession()
  const { client_id: id, client_secret: secret, scopes = [], grant_types: grants = [] } = client
  const own = scopes.filter((scope) => !isUserScope(scope))
  return (
    <Page
      title={t.clients.made(client.client_name ?? id)}
      {...(secret === undefined ? { lead: t.clients.madeOpen } : {})}
    >
      {secret !== undefined && <ShownOnce title={t.clients.madeSecret} secret={secret} />}
      {grants.includes('client_credentials') && (
        <section className="panel" aria-label={t.clients.getToken}>
          <Snippet request={{ issuer, baseUrl, credential: { kind: 'client', id, scopes: own } }} />
        </section>
      )}
      <Group>
        <Button onClick={() => void navigate({ to: '/clients/$id', params: { id } })}>{t.clients.open}</Button>
      </Group>
    </Page>
  )
}
