import type { Notification } from '@gatehouse/client'
import { Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useRead } from '../../../api/queries.ts'
import { useTexts } from '../../../texts/settings.tsx'
import { type Relation, relationsOf } from './channel-history.ts'

/** The notifications that one is connected with: sent again, combined, duplicate. */
export function Related({ notification: { id, deliveries, timeline } }: { notification: Notification }) {
  const t = useTexts()
  const relations = relationsOf(deliveries, timeline)
  if (relations.length === 0) return null
  return (
    <Group gap="md" role="group" aria-label={t.notification.related}>
      {relations.map((relation) =>
        relation.kind === 'duplicateOf' ? (
          <Duplicate key={relation.deliveryId} deliveryId={relation.deliveryId} own={id} />
        ) : (
          <RelatedLink key={relation.id} kind={relation.kind} id={relation.id} />
        ),
      )}
    </Group>
  )
}

function Duplicate({ deliveryId, own }: { deliveryId: string; own: string }) {
  const { data } = useRead('readDelivery', { id: deliveryId })
  if (data === undefined || data.notification_id === own) return null
  return <RelatedLink kind="duplicateOf" id={data.notification_id} />
}

function RelatedLink({ kind, id }: { kind: Relation['kind']; id: string }) {
  const t = useTexts()
  return (
    <Text size="sm">
      {t.notification[kind]}{' '}
      <Link to="/notifications/$id" params={{ id }}>
        {id}
      </Link>
    </Text>
  )
}
