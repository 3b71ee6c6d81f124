import { Checkbox, Fieldset, Stack, Text, Textarea, TextInput } from '@mantine/core'
import type { RecordForm } from '../../../forms/record-form.ts'
import { useTexts } from '../../../texts/settings.tsx'
import { PolicyField } from './policy-field.tsx'
import type { ClientValues } from './registration.ts'
import { ScopesField } from './scopes.tsx'

interface ClientFieldsProps {
  readonly form: RecordForm<ClientValues>['form']
  /** Whether users sign in with it, at an address that they come back to. */
  readonly hasRedirects: boolean
  /** Whether anybody can use its id, since it has no secret. */
  readonly isPublic: boolean
  /** Members that the API does not remove again once they are set. */
  readonly permanent?: ReadonlySet<keyof ClientValues>
}

/** The fields of a client. A setting that makes it less safe says why where it is chosen. */
export function ClientFields({ form, hasRedirects, isPublic, permanent }: ClientFieldsProps) {
  const t = useTexts()
  return (
    <Stack>
      {hasRedirects && (
        <>
          <Textarea
            label={t.clients.redirects}
            description={t.clients.linesHelp}
            autosize
            minRows={2}
            required
            {...form.getInputProps('redirect_uris')}
          />
          <Textarea
            label={t.clients.afterLogout}
            description={t.clients.linesHelp}
            autosize
            {...form.getInputProps('post_logout_redirect_uris')}
          />
        </>
      )}
      <ScopesField label={t.clients.scopes} field={form.getInputProps('scopes')} />
      <TextInput
        label={t.clients.plan}
        description={t.clients.planHelp}
        required={permanent?.has('plan') ?? false}
        {...form.getInputProps('plan')}
      />
      <PolicyField {...form.getInputProps('policy')} />
      {hasRedirects && (
        <>
          <TextInput
            label={t.clients.logout}
            type="url"
            required={permanent?.has('backchannel_logout_uri') ?? false}
            {...form.getInputProps('backchannel_logout_uri')}
          />
          <Textarea
            label={t.clients.origins}
            description={t.clients.originsHelp}
            autosize
            {...form.getInputProps('allowed_origins')}
          />
        </>
      )}
      <SafetyFields form={form} hasRedirects={hasRedirects} isPublic={isPublic} />
    </Stack>
  )
}

function SafetyFields({ form, hasRedirects, isPublic }: ClientFieldsProps) {
  const t = useTexts()
  const { values } = form
  const box = (name: keyof ClientValues, label: string, risk?: string) => (
    <div key={name}>
      <Checkbox label={label} {...form.getInputProps(name, { type: 'checkbox' })} />
      {risk !== undefined && (
        <Text size="sm" className="risk" role="note">
          {risk}
        </Text>
      )}
    </div>
  )
  const { risks } = t.clients
  return (
    <Fieldset legend={t.clients.safety}>
      <Stack gap="sm">
        {hasRedirects &&
          !isPublic &&
          box('require_pkce', t.clients.pkce, values.require_pkce ? undefined : risks.noPkce)}
        {hasRedirects && box('require_pushed_authorization_requests', t.clients.par)}
        {hasRedirects &&
          (isPublic
            ? box('first_party', t.clients.consent, values.first_party ? risks.skipsConsent : undefined)
            : box('skip_consent', t.clients.consent, values.skip_consent ? risks.skipsConsent : undefined))}
        {!isPublic &&
          box('may_introspect', t.clients.introspect, values.may_introspect ? risks.introspects : undefined)}
      </Stack>
    </Fieldset>
  )
}
