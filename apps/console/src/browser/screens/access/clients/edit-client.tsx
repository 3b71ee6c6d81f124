import { type OAuthClient, PreconditionFailedError } from '@gatehouse/client'
import { Button, Group, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useChange, useVersioned, type Versioned } from '../../../api/versioned.ts'
import { useRecordForm } from '../../../forms/record-form.ts'
import { Conflict } from '../../../parts/changes/conflict.tsx'
import { LeaveGuard } from '../../../parts/changes/leave-guard.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Page } from '../../../parts/page.tsx'
import { Answer } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { ClientFields } from './client-fields.tsx'
import { type ClientValues, membersOf, valuesOf } from './registration.ts'

/** The settings of a client, to change them. */
export function EditClientScreen() {
  const t = useTexts()
  const { id } = useParams({ strict: false }) as { id: string }
  const query = useVersioned('readClient', { id })
  return (
    <Page title={t.clients.editTitle(query.data?.value.client_name ?? id)}>
      <Answer action="readClient" query={query}>
        {(read) => <EditClient read={read} reload={async () => (await query.refetch()).data} />}
      </Answer>
    </Page>
  )
}

interface EditClientProps {
  readonly read: Versioned<OAuthClient>
  readonly reload: () => Promise<Versioned<OAuthClient> | undefined>
}

/** What is edited is what was read when the form was opened, whatever is read later. */
function EditClient({ read, reload }: EditClientProps) {
  const t = useTexts()
  const navigate = useNavigate()
  const labels = useLabels()
  const mutation = useChange('updateClient')
  const [base, setBase] = useState(read)
  const [theirs, setTheirs] = useState<Versioned<OAuthClient>>()
  const { client_id: id, grant_types: grants = [], token_endpoint_auth_method: method } = read.value
  const { form, etag, rest, show, isTyped, finish } = useRecordForm({
    name: `client ${id}`,
    initial: valuesOf(read.value),
    etag: read.etag,
  })
  const leave = () => {
    finish()
    void navigate({ to: '/clients/$id', params: { id } })
  }
  const save = (from: Versioned<OAuthClient>, ifMatch: string | undefined) => {
    show(null)
    const input = { id, ...membersOf(form.getValues(), valuesOf(from.value)) }
    mutation.mutate(
      { input, ifMatch },
      {
        onSuccess: () => {
          notifications.show({ message: t.clients.saved, color: 'green' })
          leave()
        },
        onError: (error) => {
          if (error instanceof PreconditionFailedError) void reload().then(setTheirs)
          else show(error)
        },
      },
    )
  }
  return (
    <form className="panel" onSubmit={form.onSubmit(() => save(base, base === read ? etag : base.etag))}>
      <Stack maw={640}>
        <TextInput label={t.clients.name} required maxLength={200} {...form.getInputProps('client_name')} />
        <ClientFields
          form={form}
          hasRedirects={grants.includes('authorization_code')}
          isPublic={method === 'none'}
          permanent={permanentOf(base.value)}
        />
        {theirs !== undefined && (
          <Conflict
            mine={form.values}
            theirs={valuesOf(theirs.value)}
            labels={labels}
            isBusy={mutation.isPending}
            keepMine={() => {
              setBase(theirs)
              setTheirs(undefined)
              save(theirs, theirs.etag)
            }}
            takeTheirs={() => {
              setBase(theirs)
              setTheirs(undefined)
              form.setValues(valuesOf(theirs.value))
            }}
          />
        )}
        <Refusal error={rest} />
        <LeaveGuard isChanged={isTyped} />
        <Group justify="flex-end">
          <Button variant="default" onClick={leave}>
            {t.common.cancel}
          </Button>
          <Button type="submit" loading={mutation.isPending}>
            {t.clients.save}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** What the API does not remove once it is set. */
function permanentOf({ plan, backchannel_logout_uri: logout }: OAuthClient): ReadonlySet<keyof ClientValues> {
  return new Set<keyof ClientValues>([
    ...(plan === undefined ? [] : (['plan'] as const)),
    ...(logout === undefined ? [] : (['backchannel_logout_uri'] as const)),
  ])
}

function useLabels(): Readonly<Record<keyof ClientValues, string>> {
  const t = useTexts()
  return {
    client_name: t.clients.name,
    redirect_uris: t.clients.redirects,
    post_logout_redirect_uris: t.clients.afterLogout,
    allowed_origins: t.clients.origins,
    backchannel_logout_uri: t.clients.logout,
    scopes: t.clients.scopes,
    plan: t.clients.plan,
    policy: t.clients.policy,
    require_pkce: t.clients.pkce,
    require_pushed_authorization_requests: t.clients.par,
    skip_consent: t.clients.consent,
    first_party: t.clients.consent,
    may_introspect: t.clients.introspect,
  }
}
