import { Alert, Button, Group, Stack, Text, Title } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { useKeptState } from '../../forms/kept-state.ts'
import { State } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import {
  amounts,
  type Base,
  type Declaration,
  differencesOf,
  inShadow,
  type LimitKind,
  type StoredLimit,
} from './declaration.ts'
import { Differences } from './differences.tsx'
import { DraftFields, type FieldFault, hasField } from './draft-fields.tsx'
import { Publish } from './publish.tsx'

/** A draft in this browser, and what it was made from. */
export interface Draft {
  readonly declaration: Declaration
  /** What was stored when it was begun: an edit by somebody else meanwhile is noticed. */
  readonly base: Base
  change(declaration: Declaration): void
  /** What is stored now, by this person. */
  rebase(saved: Base): void
}

const storageKey = ({ kind, name }: StoredLimit) => `gatehouse-draft ${kind}/${name}`

/** The draft of a tier or policy. It outlives the way to the sign-in and back. */
export function useDraft(limit: StoredLimit): Draft {
  const { declaration, etag } = limit
  const [kept, setKept] = useState(() => readDraft(limit) ?? { base: { declaration, etag }, draft: declaration ?? {} })
  const keep = (next: typeof kept) => {
    setKept(next)
    sessionStorage.setItem(storageKey(limit), JSON.stringify(next))
  }
  return {
    declaration: kept.draft,
    base: kept.base,
    change: (draft) => keep({ ...kept, draft }),
    rebase: (base) => keep({ ...kept, base }),
  }
}

function readDraft(limit: StoredLimit): { base: Base; draft: Declaration } | undefined {
  try {
    const text = sessionStorage.getItem(storageKey(limit))
    const kept = text === null ? undefined : (JSON.parse(text) as { base: Base; draft: Declaration })
    return kept !== undefined && differencesOf(kept.base.declaration, kept.draft).length > 0 ? kept : undefined
  } catch {
    return undefined
  }
}

interface DraftPanelProps {
  readonly limit: StoredLimit
  readonly draft: Draft
  readonly simulate: () => void
}

/** The fault of a member that has a field. */
function fieldFaultOf(
  error: { readonly pointer: string; readonly detail: string } | undefined,
  kind: LimitKind,
  declaration: Declaration,
): FieldFault | undefined {
  const path = error?.pointer.replace(/^\/declaration\//, '')
  if (error === undefined || path === undefined || !hasField(path, kind, declaration)) return undefined
  return { path, expected: error.detail }
}

const checkDelayMs = 300

/** The draft: its fields, whether it may be activated, and the ways to try it. */
export function DraftPanel({ limit, draft, simulate }: DraftPanelProps) {
  const t = useTexts()
  const { declaration } = draft
  const { kind, name } = limit
  const [{ step }, write] = useKeptState<{ step?: 'shadow' | 'activate' | undefined }>(`step of ${kind} ${name}`, {})
  const setStep = (next: typeof step) => write({ step: next })
  const [checked] = useDebouncedValue(declaration, checkDelayMs)
  const changed = differencesOf(limit.declaration, declaration).length > 0
  const check = useRead('validateLimit', { kind, name, declaration: { ...checked } }, changed)
  const isValid = changed && checked === declaration && check.data?.valid === true && !check.isPlaceholderData
  const refused = changed && check.data?.valid === false ? check.data : undefined
  const fault = fieldFaultOf(refused?.errors?.[0], kind, declaration)
  const hasAmount = amounts.some((amount) => declaration[amount] !== undefined)
  const steps = {
    shadow: { declaration: inShadow(limit.declaration ?? {}, declaration), text: t.limit.shadowText },
    activate: { declaration, text: t.limit.activateText },
  }
  return (
    <section className="panel" aria-label={t.limit.draft}>
      <Title order={2} size="h5">
        {t.limit.draft}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {t.limit.draftLead}
      </Text>
      <Stack>
        <DraftFields kind={kind} declaration={declaration} onChange={draft.change} fault={fault} />
        {changed && limit.declaration !== undefined && (
          <Differences
            before={limit.declaration}
            after={declaration}
            names={[t.limit.stored, t.limit.inDraft]}
            label={t.limit.draft}
          />
        )}
        <div aria-live="polite">
          {!changed && <Text size="sm">{t.limit.unchanged}</Text>}
          {isValid && <State tone="good">{t.limit.valid}</State>}
          {refused !== undefined && fault === undefined && <Alert color="red">{refused.fault}</Alert>}
          {fault !== undefined && <Text size="sm">{t.limit.faulty}</Text>}
          {changed && check.error !== null && <Alert color="red">{check.error.message}</Alert>}
        </div>
        <Group gap="xs">
          <Button variant="default" onClick={simulate}>
            {t.limit.simulate}
          </Button>
          {limit.declaration !== undefined && (
            <Button variant="default" disabled={!isValid || !hasAmount} onClick={() => setStep('shadow')}>
              {t.limit.shadow}
            </Button>
          )}
          <Button disabled={!isValid} onClick={() => setStep('activate')}>
            {t.limit.activate}
          </Button>
        </Group>
      </Stack>
      {(['shadow', 'activate'] as const).map((one) => (
        <Publish
          key={one}
          limit={limit}
          declaration={steps[one].declaration}
          ifMatch={draft.base.etag}
          title={t.limit[one]}
          text={steps[one].text}
          open={step === one}
          close={() => setStep(undefined)}
          onSaved={draft.rebase}
        />
      ))}
    </section>
  )
}
