{{/* pod metadata and the parts of a pod's spec that both ends share. */}}
{{- define "weir.podMetadata" -}}
annotations:
  {{- if eq .Values.metrics.annotations "Enabled" }}
  prometheus.io/scrape: "true"
  prometheus.io/port: {{ .Values.metrics.port | quote }}
  prometheus.io/path: /metrics
  {{- end }}
  kubectl.kubernetes.io/default-container: weir
  {{- if and (eq .Values.mode "agent") .Values.agent.joinToken }}
  # A new token is read by a new pod.
  weir.io/join: {{ sha256sum (print .Values.agent.joinToken .Values.agent.hubCA) | trunc 16 }}
  {{- end }}
  {{- with .Values.pod.annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
labels:
  {{- include "weir.labels" . | nindent 2 }}
  # weir stands outside of the mesh that it moves.
  sidecar.istio.io/inject: "false"
  istio.io/dataplane-mode: none
  {{- with .Values.pod.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "weir.podSpec" -}}
serviceAccountName: {{ include "weir.name" . }}
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  {{- toYaml .Values.pod.securityContext | nindent 2 }}
{{- with .Values.pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.tolerations }}
tolerations:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.pod.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* container fields that both ends share; the caller gives args, more ports and mounts. */}}
{{- define "weir.container" -}}
name: weir
image: {{ include "weir.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.pod.containerSecurityContext | nindent 2 }}
resources:
  {{- toYaml .Values.pod.resources | nindent 2 }}
livenessProbe:
  httpGet:
    path: /healthz
    port: health
  initialDelaySeconds: 10
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: 5
  timeoutSeconds: 5
terminationMessagePolicy: FallbackToLogsOnError
{{- end -}}
