import type { LimitedCaller } from '@gatehouse/client'
import { Alert, Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { needsSignIn } from '../../../api/problem.ts'
import { useAction } from '../../../api/queries.ts'
import { useMay, useSession } from '../../../api/session.tsx'
import { SignInAgain } from '../../../parts/changes/sign-in-again.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useWait } from '../wait.ts'
import { offerToUnblock } from './owners-limits.ts'

interface UnblockProps {
  readonly caller: LimitedCaller
  readonly kind: string
  readonly id: string
}

/** That a caller is rejected, by which rules and for how long, and the button that lets it in again. */
export function Unblock({ caller: { policies }, kind, id }: UnblockProps) {
  const t = useTexts()
  const may = useMay()
  const { scopes } = useSession()
  const wait = useWait()
  const mutation = useAction('unblockCaller')
  const rejecting = policies.filter(({ allowed }) => !allowed)
  if (rejecting.length === 0) return null
  const offer = may('unblockCaller') ? offerToUnblock(policies, scopes) : undefined
  const unblock = () =>
    mutation.mutate(
      { kind, id },
      {
        onSuccess: ({ still_rejected: left }) => {
          const message =
            left.length === 0
              ? t.callers.unblocked
              : t.callers.stillRejected(left.map(({ policy }) => policy).join(', '))
          notifications.show({ message, color: left.length === 0 ? 'green' : 'yellow' })
        },
        onError: (error) => {
          if (!needsSignIn(error)) notifications.show({ message: error.message, color: 'red' })
        },
      },
    )
  return (
    <Alert color="red" title={t.callers.isRejected} role="group">
      <Group justify="space-between" gap="sm">
        <div>
          {rejecting.map(({ policy, rules, retry_after: seconds, shared }) => (
            <Text key={policy} size="sm">
              {t.callers.rejectedBy(
                policy,
                rules.filter((rule) => !rule.allowed && !rule.shadow).map(({ name }) => name),
                wait(seconds),
              )}
              {shared ? ` ${t.callers.sharedStays}` : ''}
            </Text>
          ))}
        </div>
        {offer === 'unblock' && (
          <Button onClick={unblock} loading={mutation.isPending}>
            {t.callers.unblock}
          </Button>
        )}
        {offer === 'owners_only' && <Text size="sm">{t.callers.ownersUnblock}</Text>}
      </Group>
      <SignInAgain error={mutation.error} close={() => mutation.reset()} />
    </Alert>
  )
}
