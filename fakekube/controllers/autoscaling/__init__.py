"""The controller of autoscaling/v2: HorizontalPodAutoscaler (`pkg/controller/podautoscaler`)."""
